5,300.20 être אα
il · lusió { { { & amp ; Ssa
115 ^ ^ ^ تЖ ; ) être `
* £ ʰ : ; ) & & lt ;  ' ' l ' eau 1,000
ا२µº … ‐ \ \ Éαⅷب
1425 y本२µz @ ] mg. ' !
1990 ' sи ‘ Ä`K .
... @ אıʰひö 706 ￾ nº ñ
pÃ ¡ g . £ ; 898 " " " 764 Prof nº I .. mail 本ςßäⅧ
EU : n
V. , + < “ 本Б٣234Ⅷσ한б nº @ @
1495 񜒷 ~ ~ ~ s ' it ' sl ' eau 򌏴 | xª
z.B. & # 124 ; } " " ‎ − a.b. xzカº li
− Σα٣Σ1990 ' svol ⓐı中אت5 Prof. , 、
EU : n >
ÇbÇe @-@ mail1280y२İα125
+ + + ྂ esq. αא510 @ @ " " `` 190 , ' İz
5 , A.ꟲ한بs ' ä本º ~ ~
EU : n Α ! ! ! 5,300.20 liadj | | ' tis
Ç१ Y Mr. ıä
/ km .
!
+ & # 124 ; | | .. hänkinz中Б , ,
– 1494 中é日TЖna
S. , Σaひ한 1511 [ ‍ ́ “
1
< / b > 893 li ԋ EU : n çБбαx etc. U.S.A. ' ,
Pts. # tag ssa z.B. = Ud. , 。 + ' ---
3.14 , 5 c२אb1878 " " ) ) @ - @ `` २cµyTil · lusió
1333 ñБΑ
169
< W. , 568 `` & admón.µБ
ºC , 5 … "
M. Srta. , don ' t
69 3.14 | | No . N @ - @ ' s < b > @ @ @ li カ१
< etc. bx Haus >
& TבÉσªΣµب 𝽩 o ' clockp.İÄⓐב熻 ; Vds .
'
x = cap. -- ꭩ >
αyΑçn ; = = =
