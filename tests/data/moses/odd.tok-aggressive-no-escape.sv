5,300.20 être אα
il · lusió { { { & amp ; Ssa
115 ^ ^ ^ تЖ ; ) être `
* £ ʰ : ; ) & & lt ;  ' ' l ' eau 1,000
ا२µº … ‐ \ \ Éαⅷب
1425 y本२µz @ ] B. ' !
1990 ' sи ‘ Ä`AB .
... @ אıʰひö 706 ￾ nº ñ
Y .. nααب 1 . १تbت 764 f nº VG .. mail 本ςßäⅧ 1908 185
m.a.o. , + < “ 本Б٣234Ⅷσ한б nº @ @
1495 񜒷 ~ ~ ~ s ' it ' sl ' eau 򌏴 | xª
z.B. & # 124 ; } " " ‎ − a.b. xzカº li
− Σα٣Σ1990 ' sS ⓐı中אت5 f. , 、
EU:n >
ÇbÇe @-@ mail1280y२İα125
+ + + ྂ prop αא510 @ @ " " `` 190 , ' İz
5 , A.ꟲ한بs ' ä本º ~ ~
EU:n Α ! ! ! 5,300.20 liokt | | ' tis
Ç१ kr Mr. ıä
/ jun .
! ​ 5,1294N ⓐN१cб ' 944اñΑבБ१カ
nov .. o.s.v. ' 1494 中é Ä . ' 869 * * a.b. 1511
li `
o ' clock ( 290 664 SÉσT ԋ EU:n çБбαx m. h. a .
mar. ' nov. — 㹑 % =
。 + ' ---
3.14 , 5 c२אb1878 " " ) ) @ - @ `` २cµyTil · lusió
1333 ñБΑ
169
< mao. , 568 `` & nov.µБ
ºC , 5 … "
aug. mha. , don ' t
69 3.14 | | No . N @ - @ ' s < b > @ @ @ li カ१
< etc. bx Haus >
& TבÉσªΣµب 𝽩 o ' clockp.İÄⓐב熻 ; mag .
'
x = mha -- ꭩ >
αyΑçn ; = = =
' ' 本 한nςx и G. @ १ % % # tag tex. , mail V ..
ꭩ Haus ȋ # # # 한öß :
