5,300.20 être אα
il · lusió { { { & amp ; Ssa
115 ^ ^ ^ تЖ ; ) être `
* £ ʰ : ; ) & & lt ;  ' ' l ' eau 1,000
ا२µº … ‐ \ \ Éαⅷب
1425 y本२µz @ ] PaedDr. ' !
1990 ' sи ‘ Ä`vyd .
... @ אıʰひö 706 ￾ nº ñ
fol .. nααب 1 . १تbت 764 kl nº eufem .. mail 本ςßäⅧ 1908 185
př . Kr . , + < “ 本Б٣234Ⅷσ한б nº @ @
1495 񜒷 ~ ~ ~ s ' it ' sl ' eau 򌏴 | xª
z.B. & # 124 ; } " " ‎ − a.b. xzカº li
− Σα٣Σ1990 ' sphil ⓐı中אت5 kl. , 、
EU : n >
ÇbÇe @-@ mail1280y२İα125
+ + + ྂ vl. jm αא510 @ @ " " `` 190 , ' İz
5 , A.ꟲ한بs ' ä本º ~ ~
EU : n Α ! ! ! 5,300.20 liv z | | ' tis
Ç१ film Mr. ıä
/ náb .
! ​ 5,1294N ⓐN१cб ' 944اñΑבБ१カ
hod .. subst. ' 1494 中é Ä . ' 869 * * a.b. 1511
li `
o ' clock ( 290 664 SÉσT ԋ EU : n çБбαx prep .
odd. ' hod. — 㹑 % =
。 + ' ---
3.14 , 5 c२אb1878 " " ) ) @ - @ `` २cµyTil · lusió
1333 ñБΑ
169
< roč. , 568 `` & hod.µБ
ºC , 5 … "
hor. RSDr. , don ' t
69 3.14 | | No . N @ - @ ' s < b > @ @ @ li カ१
< etc. bx Haus >
& TבÉσªΣµب 𝽩 o ' clockp.İÄⓐב熻 ; resp .
'
x = sg -- ꭩ >
αyΑçn ; = = =
' ' 本 한nςx и abt. @ १ % % # tag ob. , mail dět ..
ꭩ Haus ȋ # # # 한öß :
