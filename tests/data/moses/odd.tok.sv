5,300.20 être אα
il · lusió { { { &amp; amp ; Ssa
115 ^ ^ ^ تЖ ; ) être `
* £ ʰ : ; ) &amp; &amp; lt ;  &apos; &apos; l &apos; eau 1,000
ا२µº … ‐ \ \ Éαⅷب
1425 y本२µz @ &#93; B. &apos; !
1990 &apos; sи ‘ Ä`AB .
... @ אıʰひö 706 ￾ nº ñ
Y .. nααب 1 . १تbت 764 f nº VG .. mail 本ςßäⅧ 1908 185
m.a.o. , + &lt; “ 本Б٣234Ⅷσ한б nº @ @
1495 񜒷 ~ ~ ~ s &apos; it &apos; sl &apos; eau 򌏴 &#124; xª
z.B. &amp; # 124 ; } &quot; &quot; ‎ − a.b. xzカº li
− Σα٣Σ1990 &apos; sS ⓐı中אت5 f. , 、
EU:n &gt;
ÇbÇe-mail1280y२İα125
+ + + ྂ prop αא510 @ @ &quot; &quot; `` 190 , &apos; İz
5 , A.ꟲ한بs &apos; ä本º ~ ~
EU:n Α ! ! ! 5,300.20 liokt &#124; &#124; &apos; tis
Ç१ kr Mr. ıä
/ jun .
! ​ 5,1294N ⓐN१cб &apos; 944اñΑבБ१カ
nov .. o.s.v. &apos; 1494 中é Ä . &apos; 869 * * a.b. 1511
li `
o &apos; clock ( 290 664 SÉσT ԋ EU:n çБбαx m. h. a .
mar. &apos; nov. — 㹑 % =
。 + &apos; ---
3.14 , 5 c२אb1878 &quot; &quot; ) ) @ - @ `` २cµyTil · lusió
1333 ñБΑ
169
&lt; mao. , 568 `` &amp; nov.µБ
ºC , 5 … &quot;
aug. mha. , don &apos; t
69 3.14 &#124; &#124; No . N @ - @ &apos; s &lt; b &gt; @ @ @ li カ१
&lt; etc. bx Haus &gt;
&amp; TבÉσªΣµب 𝽩 o &apos; clockp.İÄⓐב熻 ; mag .
&apos;
x = mha -- ꭩ &gt;
αyΑçn ; = = =
&apos; &apos; 本 한nςx и G. @ १ % % # tag tex. , mail V ..
ꭩ Haus ȋ # # # 한öß :
