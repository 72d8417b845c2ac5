5,300.20 être אα
il · lusió { { { &amp; amp ; Ssa
115 ^ ^ ^ تЖ ; ) être `
* £ ʰ : ; ) &amp; &amp; lt ;  &apos; &apos; l &apos; eau 1,000
ا२µº … ‐ \ \ Éαⅷب
1425 y本२µz @ &#93; mg. &apos; !
1990 &apos; sи ‘ Ä`K .
... @ אıʰひö 706 ￾ nº ñ
pÃ ¡ g . £ ; 898 &quot; &quot; &quot; 764 Prof nº I .. mail 本ςßäⅧ
EU : n
V. , + &lt; “ 本Б٣234Ⅷσ한б nº @ @
1495 񜒷 ~ ~ ~ s &apos; it &apos; sl &apos; eau 򌏴 &#124; xª
z.B. &amp; # 124 ; } &quot; &quot; ‎ − a.b. xzカº li
− Σα٣Σ1990 &apos; svol ⓐı中אت5 Prof. , 、
EU : n &gt;
ÇbÇe-mail1280y२İα125
+ + + ྂ esq. αא510 @ @ &quot; &quot; `` 190 , &apos; İz
5 , A.ꟲ한بs &apos; ä本º ~ ~
EU : n Α ! ! ! 5,300.20 liadj &#124; &#124; &apos; tis
Ç१ Y Mr. ıä
/ km .
!
+ &amp; # 124 ; &#124; &#124; .. hänkinz中Б , ,
– 1494 中é日TЖna
S. , Σaひ한 1511 &#91; ‍ ́ “
1
&lt; / b &gt; 893 li ԋ EU : n çБбαx etc. U.S.A. &apos; ,
Pts. # tag ssa z.B. = Ud. , 。 + &apos; ---
3.14 , 5 c२אb1878 &quot; &quot; ) ) @ - @ `` २cµyTil · lusió
1333 ñБΑ
169
&lt; W. , 568 `` &amp; admón.µБ
ºC , 5 … &quot;
M. Srta. , don &apos; t
69 3.14 &#124; &#124; No . N @ - @ &apos; s &lt; b &gt; @ @ @ li カ१
&lt; etc. bx Haus &gt;
&amp; TבÉσªΣµب 𝽩 o &apos; clockp.İÄⓐב熻 ; Vds .
&apos;
x = cap. -- ꭩ &gt;
αyΑçn ; = = =
