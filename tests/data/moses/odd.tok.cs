5,300.20 être אα
il · lusió { { { &amp; amp ; Ssa
115 ^ ^ ^ تЖ ; ) être `
* £ ʰ : ; ) &amp; &amp; lt ;  &apos; &apos; l &apos; eau 1,000
ا२µº … ‐ \ \ Éαⅷب
1425 y本२µz @ &#93; PaedDr. &apos; !
1990 &apos; sи ‘ Ä`vyd .
... @ אıʰひö 706 ￾ nº ñ
fol .. nααب 1 . १تbت 764 kl nº eufem .. mail 本ςßäⅧ 1908 185
př . Kr . , + &lt; “ 本Б٣234Ⅷσ한б nº @ @
1495 񜒷 ~ ~ ~ s &apos; it &apos; sl &apos; eau 򌏴 &#124; xª
z.B. &amp; # 124 ; } &quot; &quot; ‎ − a.b. xzカº li
− Σα٣Σ1990 &apos; sphil ⓐı中אت5 kl. , 、
EU : n &gt;
ÇbÇe-mail1280y२İα125
+ + + ྂ vl. jm αא510 @ @ &quot; &quot; `` 190 , &apos; İz
5 , A.ꟲ한بs &apos; ä本º ~ ~
EU : n Α ! ! ! 5,300.20 liv z &#124; &#124; &apos; tis
Ç१ film Mr. ıä
/ náb .
! ​ 5,1294N ⓐN१cб &apos; 944اñΑבБ१カ
hod .. subst. &apos; 1494 中é Ä . &apos; 869 * * a.b. 1511
li `
o &apos; clock ( 290 664 SÉσT ԋ EU : n çБбαx prep .
odd. &apos; hod. — 㹑 % =
。 + &apos; ---
3.14 , 5 c२אb1878 &quot; &quot; ) ) @ - @ `` २cµyTil · lusió
1333 ñБΑ
169
&lt; roč. , 568 `` &amp; hod.µБ
ºC , 5 … &quot;
hor. RSDr. , don &apos; t
69 3.14 &#124; &#124; No . N @ - @ &apos; s &lt; b &gt; @ @ @ li カ१
&lt; etc. bx Haus &gt;
&amp; TבÉσªΣµب 𝽩 o &apos; clockp.İÄⓐב熻 ; resp .
&apos;
x = sg -- ꭩ &gt;
αyΑçn ; = = =
&apos; &apos; 本 한nςx и abt. @ १ % % # tag ob. , mail dět ..
ꭩ Haus ȋ # # # 한öß :
