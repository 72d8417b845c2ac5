5,300.20 être אα
il · lusió { { { &amp; amp ; Ssa
115 ^ ^ ^ تЖ ; ) être `
* £ ʰ : ; ) &amp; &amp; lt ;  &apos; &apos; l &apos; eau 1,000
ا२µº … ‐ \ \ Éαⅷب
1425 y本२µz @ &#93; Cв. &apos; !
1990 &apos; sи ‘ Ä`в .
... @ אıʰひö 706 ￾ nº ñ
8мг .. nααب 1 . १تbت 764 V nº 7см .. mail 本ςßäⅧ 1908 185
о. , + &lt; “ 本Б٣234Ⅷσ한б nº @ @
1495 񜒷 ~ ~ ~ s &apos; it &apos; sl &apos; eau 򌏴 &#124; xª
z.B. &amp; # 124 ; } &quot; &quot; ‎ − a.b. xzカº li
− Σα٣Σ1990 &apos; s7га ⓐı中אت5 V. , 、
EU : n &gt;
ÇbÇe-mail1280y२İα125
+ + + ྂ Я αא510 @ @ &quot; &quot; `` 190 , &apos; İz
5 , A.ꟲ한بs &apos; ä本º ~ ~
EU : n Α ! ! ! 5,300.20 li9см .. ？ &apos; tis
Ç१ просп Mr. ıä
/ га .
! ​ 5,1294N ⓐN१cб &apos; 944اñΑבБ१カ
G. , – 1494 中é Ä . &apos; 869 * * a.b. 1511
li `
o &apos; clock ( 290 664 SÉσT ԋ EU : n çБбαx н .
лл.307 — 㹑 % =
。 + &apos; ---
3.14 , 5 c२אb1878 &quot; &quot; ) ) @ - @ `` २cµyTil · lusió
1333 ñБΑ
169
&lt; см. , 568 `` &amp; Д. ̈
c0см . = 17190гг &apos; , 50мм .
Z .. don &apos; t ‚ = 3.14 &#124; &#124;
中
@ - @ &apos; s &lt; b &gt; @ @ @ li
&lt; ÇÉא No. it &apos; s 7км. , РTבÉσªΣµب 𝽩 &gt;
s &apos; high-speed Ssa ; ред. / U.S.A.`` 󠖲 &amp; amp ; # # # &apos; &apos;
ͅ @ 1152 Д U.S.A.l &apos; eau αⅧжç1,000ⓐⅷºc &quot; &quot; &quot; , 1191
2км. @ १
227 १한א mail 7км .. 한
в. ,
