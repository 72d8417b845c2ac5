5,300.20 être אα
il · lusió { { { & amp ; Ssa
115 ^ ^ ^ تЖ ; ) être `
* £ ʰ : ; ) & & lt ;  ' ' l ' eau 1,000
ا२µº … ‐ \ \ Éαⅷب
1425 y本२µz @ ] katol. ' !
1990 ' sи ‘ Ä`p .
... @ אıʰひö 706 ￾ nº ñ
dcn .. nααب 1 . १تbت 764 hab nº chem .. mail 本ςßäⅧ 1908 185
zach. , + < “ 本Б٣234Ⅷσ한б nº @ @
1495 񜒷 ~ ~ ~ s ' it ' sl ' eau 򌏴 | xª
z.B. & # 124 ; } " " ‎ − a.b. xzカº li
− Σα٣Σ1990 ' sst ⓐı中אت5 hab. , 、
EU : n >
ÇbÇe @-@ mail1280y२İα125
+ + + ྂ czw αא510 @ @ " " `` 190 , ' İz
5 , A.ꟲ한بs ' ä本º ~ ~
EU : n Α ! ! ! 5,300.20 lids .. ？ ' tis
Ç१ H Mr. ıä
/ pl .
! ​ 5,1294N ⓐN१cб ' 944اñΑבБ१カ
elektr. , – 1494 中é Ä . ' 869 * * a.b. 1511
li `
o ' clock ( 290 664 SÉσT ԋ EU : n çБбαx woj .
szer.307 — 㹑 % =
。 + ' ---
3.14 , 5 c२אb1878 " " ) ) @ - @ `` २cµyTil · lusió
1333 ñБΑ
169
< ŚW. , 568 `` & Al. ̈
cNb . = 1719Al ' , 5krak .
ekon .. don ' t ‚ = 3.14 | |
中
@ - @ ' s < b > @ @ @ li
< ÇÉא No. it ' s żyw. , РTבÉσªΣµب 𝽩 >
s ' high @-@ speed Ssa ; Ć. / U.S.A.`` 󠖲 & amp ; # # # ' '
ͅ @ 1152 k.k U.S.A.l ' eau αⅧжç1,000ⓐⅷºc " " " , 1191
Mgr. @ १
227 १한א mail c.o .. 한
oO. ,
