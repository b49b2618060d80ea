"""The symbols of LaTeX formulas, by the names of their commands."""

SYMBOLS = dict(pair.split(" ") for line in r"""
AA Å  aa å  ac ∾  acwopencirclearrow ↺  adots ⋰  AE Æ  ae æ  aleph ℵ  alpha α  amalg ⨿  angle ∠  approx ≈
approxeq ≊  approxident ≋  arceq ≘  ast ∗  asterisk *  asymp ≍  backcong ≌  backepsilon ϶  backprime ‵
backsim ∽  backsimeq ⋍  backslash \  bagmember ⋿  barleftarrow ⇤  barvee ⊽  barwedge ⊼  BbbC ℂ  BbbN ℕ  BbbP ℙ
BbbQ ℚ  BbbR ℝ  BbbZ ℤ  because ∵  beta β  beth ℶ  between ≬  bigcap ⋂  bigcirc ○  bigcup ⋃  bigodot ⨀
bigoplus ⨁  bigotimes ⨂  bigsqcup ⨆  bigstar ★  bigtriangledown ▽  bigtriangleup △  biguplus ⨄  bigvee ⋁
bigwedge ⋀  blacksquare ■  blacktriangle ▴  blacktriangledown ▾  blacktriangleleft ◀  blacktriangleright ▶
bot ⊥  bowtie ⋈  boxbar ◫  boxdot ⊡  boxminus ⊟  boxplus ⊞  boxtimes ⊠  bullet ∙  Bumpeq ≎  bumpeq ≏  Cap ⋒
cap ∩  carriagereturn ↵  cdot ⋅  cdotp ·  cdots ⋯  cent ¢  checkmark ✓  chi χ  circ ∘  circeq ≗
circlearrowleft ↺  circlearrowright ↻  circledast ⊛  circledcirc ⊚  circleddash ⊝  circledR ®  circledS Ⓢ
clubsuit ♣  clubsuitopen ♧  Colon ∷  colon :  coloneq ≔  complement ∁  cong ≅  coprod ∐  copyright ©  Cup ⋓
cup ∪  cupdot ⊍  cupleftarrow ⊌  curlyeqprec ⋞  curlyeqsucc ⋟  curlyvee ⋎  curlywedge ⋏  curvearrowleft ↶
curvearrowright ↷  cwopencirclearrow ↻  dag †  dagger †  daleth ℸ  danger ☡  dashleftarrow ⤎  dashrightarrow ⤏
dashv ⊣  ddag ‡  ddagger ‡  ddots ⋱  degree °  Delta Δ  delta δ  DH Ð  dh ð  diamond ⋄  diamondsuit ♢  digamma ϝ
disin ⋲  div ÷  divideontimes ⋇  Doteq ≑  doteq ≐  doteqdot ≑  dotminus ∸  dotplus ∔  dots …  dotsminusdots ∺
doublebarwedge ⌆  Downarrow ⇓  downarrow ↓  downdownarrows ⇊  downharpoonleft ⇃  downharpoonright ⇂
downzigzagarrow ↯  ell ℓ  emdash —  emptyset ∅  endash –  epsilon ε  eqcirc ≖  eqcolon ≕  eqdef ≝  eqgtr ⋝
eqless ⋜  eqsim ≂  eqslantgtr ⪖  eqslantless ⪕  equal =  equalparallel ⋕  Equiv ≣  equiv ≡  eta η  eth ð
exists ∃  fallingdotseq ≒  Finv Ⅎ  flat ♭  forall ∀  frakC ℭ  frakZ ℨ  frown ⌢  Game ⅁  Gamma Γ  gamma γ  geq ≥
geqq ≧  geqslant ⩾  gg ≫  ggg ⋙  gimel ℷ  gnapprox ⪊  gneqq ≩  gnsim ⋧  greater >  gtrapprox ⪆  gtrdot ⋗
gtreqless ⋛  gtreqqless ⪌  gtrless ≷  gtrsim ≳  guillemotleft «  guillemotright »  guilsinglleft ‹
guilsinglright ›  hbar ħ  heartsuit ♡  hermitmatrix ⊹  hookleftarrow ↩  hookrightarrow ↪  hslash ℏ  i ı
iiiint ⨌  iiint ∭  iint ∬  Im ℑ  imageof ⊷  imath ı  in ∈  increment ∆  infty ∞  int ∫  intercal ⊺  invnot ⌐
iota ι  isindot ⋵  isinE ⋹  isinobar ⋷  isins ⋴  isinvb ⋸  jmath ȷ  Join ⨝  kappa κ  kernelcontraction ∻
Lambda Λ  lambda λ  lambdabar ƛ  langle ⟨  lasp ʽ  lbrace {  lbrack [  lceil ⌈  ldots …  Ldsh ↲  leadsto ⇝
Leftarrow ⇐  leftarrow ←  leftarrowtail ↢  leftbrace {  leftharpoondown ↽  leftharpoonup ↼  leftleftarrows ⇇
leftparen (  Leftrightarrow ⇔  leftrightarrow ↔  leftrightarrows ⇆  leftrightharpoons ⇋  leftrightsquigarrow ↭
leftsquigarrow ↜  leftthreetimes ⋋  leq ≤  leqq ≦  leqslant ⩽  less <  lessapprox ⪅  lessdot ⋖  lesseqgtr ⋚
lesseqqgtr ⪋  lessgtr ≶  lesssim ≲  lfloor ⌊  lgroup ⟮  lhd ◁  ll ≪  llcorner ⌞  Lleftarrow ⇚  lll ⋘  lnapprox ⪉
lneqq ≨  lnsim ⋦  Longleftarrow ⟸  longleftarrow ⟵  Longleftrightarrow ⟺  longleftrightarrow ⟷  longmapsto ⟼
Longrightarrow ⟹  longrightarrow ⟶  looparrowleft ↫  looparrowright ↬  lq ‘  lrcorner ⌟  Lsh ↰  ltimes ⋉
macron ¯  maltese ✠  mapsdown ↧  mapsfrom ↤  mapsto ↦  mapsup ↥  measeq ≞  measuredangle ∡  measuredrightangle ⊾
merge ⩕  mho ℧  mid ∣  minus −  minuscolon ∹  models ⊧  mp ∓  mu μ  multimap ⊸  nabla ∇  napprox ≉  natural ♮
ncong ≇  ne ≠  Nearrow ⇗  nearrow ↗  neg ¬  neq ≠  nequiv ≢  nexists ∄  ngeq ≱  ngtr ≯  ngtrless ≹  ngtrsim ≵
ni ∋  niobar ⋾  nis ⋼  nisd ⋺  nLeftarrow ⇍  nleftarrow ↚  nLeftrightarrow ⇎  nleftrightarrow ↮  nleq ≰  nless ≮
nlessgtr ≸  nlesssim ≴  nmid ∤  notin ∉  notsmallowns ∌  nparallel ∦  nprec ⊀  npreccurlyeq ⋠  nRightarrow ⇏
nrightarrow ↛  nsim ≁  nsimeq ≄  nsqsubseteq ⋢  nsqsupseteq ⋣  nsubset ⊄  nsubseteq ⊈  nsucc ⊁  nsucccurlyeq ⋡
nsupset ⊅  nsupseteq ⊉  ntriangleleft ⋪  ntrianglelefteq ⋬  ntriangleright ⋫  ntrianglerighteq ⋭  nu ν  nVDash ⊯
nVdash ⊮  nvDash ⊭  nvdash ⊬  Nwarrow ⇖  nwarrow ↖  obar ⌽  odot ⊙  OE Œ  oe œ  oequal ⊜  oiiint ∰  oiint ∯
oint ∮  Omega Ω  omega ω  ominus ⊖  oplus ⊕  origof ⊶  oslash ⊘  otimes ⊗  parallel ∥  partial ∂  perp ⟂
perthousand ‰  Phi Φ  phi ϕ  Pi Π  pi π  pitchfork ⋔  plus +  pm ±  prec ≺  precapprox ⪷  preccurlyeq ≼
preceq ≼  precnapprox ⪹  precnsim ⋨  precsim ≾  prime ′  prod ∏  propto ∝  prurel ⊰  Psi Ψ  psi ψ  QED ∎
questeq ≟  rangle ⟩  rasp ʼ  ratio ∶  rbrace }  rbrack ]  rceil ⌉  Rdsh ↳  Re ℜ  rfloor ⌋  rgroup ⟯  rhd ▷
rho ρ  rightangle ∟  Rightarrow ⇒  rightarrow →  rightarrowbar ⇥  rightarrowtail ↣  rightassert ⊦  rightbrace }
rightharpoondown ⇁  rightharpoonup ⇀  rightleftarrows ⇄  rightleftharpoons ⇌  rightModels ⊫  rightparen )
rightrightarrows ⇉  rightsquigarrow ↝  rightthreetimes ⋌  rightzigzagarrow ⇝  ring ˚  risingdotseq ≓  rq ’
Rrightarrow ⇛  Rsh ↱  rtimes ⋊  scrB ℬ  scrE ℰ  scre ℯ  scrF ℱ  scrg ℊ  scrH ℋ  scrI ℐ  scrL ℒ  scrM ℳ  scro ℴ
scrR ℛ  scurel ⊱  Searrow ⇘  searrow ↘  setminus ∖  sharp ♯  Sigma Σ  sigma σ  sim ∼  simeq ≃  simneqq ≆
sinewave ∿  slash ∕  smallin ∊  smallintclockwise ∱  smallointctrcclockwise ∳  smallowns ∍  smallsetminus ∖
smallvarointclockwise ∲  smile ⌣  solbar ⌿  spadesuit ♠  spadesuitopen ♤  sphericalangle ∢  sqcap ⊓  sqcup ⊔
sqsubset ⊏  sqsubseteq ⊑  sqsubsetneq ⋤  sqsupset ⊐  sqsupseteq ⊒  sqsupsetneq ⋥  ss ß  star ⋆  stareq ≛
sterling £  Subset ⋐  subset ⊂  subseteq ⊆  subseteqq ⫅  subsetneq ⊊  subsetneqq ⫋  succ ≻  succapprox ⪸
succcurlyeq ≽  succeq ≽  succnapprox ⪺  succnsim ⋩  succsim ≿  sum ∑  Supset ⋑  supset ⊃  supseteq ⊇
supseteqq ⫆  supsetneq ⊋  supsetneqq ⫌  Swarrow ⇙  swarrow ↙  tau τ  textasciiacute ´  textasciicircum ^
textasciigrave `  textasciitilde ~  textexclamdown ¡  textquestiondown ¿  textquotedblleft “
textquotedblright ”  therefore ∴  Theta Θ  theta θ  Thorn Þ  thorn þ  times ×  to →  top ⊤  triangle △
triangledown ▿  triangleeq ≜  triangleleft ◁  trianglelefteq ⊴  triangleq ≜  triangleright ▷  trianglerighteq ⊵
turnednot ⌙  twoheaddownarrow ↡  twoheadleftarrow ↞  twoheadrightarrow ↠  twoheaduparrow ↟  ulcorner ⌜  unlhd ⊴
unrhd ⊵  Uparrow ⇑  uparrow ↑  Updownarrow ⇕  updownarrow ↕  updownarrowbar ↨  updownarrows ⇅  upharpoonleft ↿
upharpoonright ↾  uplus ⊎  Upsilon Υ  upsilon υ  upuparrows ⇈  urcorner ⌝  varepsilon ε  varisinobar ⋶
varisins ⋳  varkappa ϰ  varlrtriangle ⊿  varniobar ⋽  varnis ⋻  varnothing ∅  varphi φ  varpi ϖ  varpropto ∝
varrho ϱ  varsigma ς  vartheta ϑ  vartriangle ▵  vartriangleleft ⊲  vartriangleright ⊳  Vdash ⊩  vDash ⊨
vdash ⊢  vdots ⋮  vee ∨  veebar ⊻  veeeq ≚  Vert ‖  vert |  Vvdash ⊪  wedge ∧  wedgeq ≙  wp ℘  wr ≀  Xi Ξ  xi ξ
yen ¥  zeta ζ
""".strip().split("\n") for pair in line.split("  "))
