5,300.20 être אα
il · lusió { { { &amp; amp ; Ssa
115 ^ ^ ^ تЖ ; ) être `
* £ ʰ : ; ) &amp; &amp; lt ;  &apos; &apos; l &apos; eau 1,000
ا२µº … ‐ \ \ Éαⅷب
1425 y本२µz @ &#93; katol. &apos; !
1990 &apos; sи ‘ Ä`p .
... @ אıʰひö 706 ￾ nº ñ
dcn .. nααب 1 . १تbت 764 hab nº chem .. mail 本ςßäⅧ 1908 185
zach. , + &lt; “ 本Б٣234Ⅷσ한б nº @ @
1495 񜒷 ~ ~ ~ s &apos; it &apos; sl &apos; eau 򌏴 &#124; xª
z.B. &amp; # 124 ; } &quot; &quot; ‎ − a.b. xzカº li
− Σα٣Σ1990 &apos; sst ⓐı中אت5 hab. , 、
EU : n &gt;
ÇbÇe-mail1280y२İα125
+ + + ྂ czw αא510 @ @ &quot; &quot; `` 190 , &apos; İz
5 , A.ꟲ한بs &apos; ä本º ~ ~
EU : n Α ! ! ! 5,300.20 lids .. ？ &apos; tis
Ç१ H Mr. ıä
/ pl .
! ​ 5,1294N ⓐN१cб &apos; 944اñΑבБ१カ
elektr. , – 1494 中é Ä . &apos; 869 * * a.b. 1511
li `
o &apos; clock ( 290 664 SÉσT ԋ EU : n çБбαx woj .
szer.307 — 㹑 % =
。 + &apos; ---
3.14 , 5 c२אb1878 &quot; &quot; ) ) @ - @ `` २cµyTil · lusió
1333 ñБΑ
169
&lt; ŚW. , 568 `` &amp; Al. ̈
cNb . = 1719Al &apos; , 5krak .
ekon .. don &apos; t ‚ = 3.14 &#124; &#124;
中
@ - @ &apos; s &lt; b &gt; @ @ @ li
&lt; ÇÉא No. it &apos; s żyw. , РTבÉσªΣµب 𝽩 &gt;
s &apos; high-speed Ssa ; Ć. / U.S.A.`` 󠖲 &amp; amp ; # # # &apos; &apos;
ͅ @ 1152 k.k U.S.A.l &apos; eau αⅧжç1,000ⓐⅷºc &quot; &quot; &quot; , 1191
Mgr. @ १
227 १한א mail c.o .. 한
oO. ,
