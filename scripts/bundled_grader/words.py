"""English word lists for the generator, in classes by the weight of a match.

A lexical grader weights words by their rarity in a large collection. The bundled grader has no such
collection, so these lists replace it: function words have the lowest weight, then words that are typical of
generated exam questions (``role``, ``impact``, ``typical``), everyday words, and topical words. A word in no
list counts as rare and has the highest weight.
"""

from __future__ import annotations

FUNCTION = """
a an the this that these those there here it its itself he him his himself she her hers herself they them
their theirs themselves we us our ours you your yours yourself i me my mine who whom whose which what when
where why how and or but nor so yet if then else than as of in on at by for with without within from to into
onto upon about above below under over between among through during before after since until while because
although though whether not no nor never neither either both each every any some all most more much many few
fewer less least several other others another such same own only just also too very quite rather almost
again already still even ever often sometimes usually always is are was were be been being am do does did
doing done have has had having can could will would shall should may might must cannot let get gets got
getting up down out off away back around along across against toward towards per via etc e g s t d re ve ll
m don doesn didn isn aren wasn weren won wouldn couldn shouldn hasn haven hadn yes one ones ok oh please
thus hence therefore however moreover instead otherwise like unlike
"""

GENERIC = """
role roles impact impacts affect affects affected effect effects significance significant significantly
typical typically common commonly key main major primary important importance consider considered
considerations consideration factor factors influence influences influencing way ways contribute contributes
contributed contribution contributions benefit benefits associated association relate relates related
relation relationship differ differs difference differences different vary varies various variation
variations compare compares compared comparison specific specifically certain particular general generally
overall involve involves involved involving include includes included including provide provides provided
use uses used using usage implication implications potential possible practice practices method methods
approach approaches process processes procedure procedures strategy strategies example examples type types
kind kinds form forms feature features characteristic characteristics aspect aspects element elements
component components purpose function functions functioning determine determines determined describe
described description define defined defining definition explain explained identify identified identifying
address addressed addressing ensure ensuring ensures play plays played impacted shape shapes interact
interaction interactions context contexts term terms concept concepts challenge challenges issue issues
problem problems solution solutions advantage advantages disadvantage disadvantages limitation limitations
concern concerns risk risks recommended recommend recommendations current currently recent historical
history modern traditional event events development develop developed evolve evolved evolution change
changes changed time times step steps need needs needed require required requires requirement requirements
know known make makes made making made work works worked working help helps helped take takes taken taking
give gives given find found show shows shown occur occurs occurred occurrence cause causes caused causing
result results resulting lead leads leading led number numbers amount amounts level levels degree range rate
rates long short high higher low lower large small best better good effective effectively effectiveness
efficacy success successful support supports measure measures measured criteria standard standards condition
conditions case cases situation scenario scenarios instance basis additional individual individuals people
person persons distinguish distinguished distinguishing distinct unique perception misconception
misconceptions interpret interpretation understand understanding knowledge experience expect expected set
part parts point points information fact facts
"""

COMMON = """
able accept according account act action active activity actual add added age ago agree aim air allow allows
alone amazing animal animals answer apart appear applied apply area areas arm army art article ask asked
attempt attention average avoid aware baby bad bag ball bank bar base based bases basic beautiful become
becomes became bed began begin begins beginning behavior behaviors believe believed belong big bit black
block blue board body book books born bottom box boy break bring brings broken brother brought brown build
building buildings built burn business buy call called calls came capital car card care careful carefully
carry carried cars center central century chance character charge check child children choice choose city
class clean clear clearly close closed clothes coast cold collect color colors combination come comes coming
company companies complete completely complex computer contain contains control cook cooking cool corner
correct cost costs count country countries couple course cover covered create created creating culture
cultural current cut cycle daily damage dark data date daughter day days dead deal death decade decades
decide decided decision deep deeply degree depend depends design designed detail details device devices die
died difficult direct direction directly discover discovered discuss discussion distance divide divided door
double doubt draw drawn dream drink drive driver drop dry due ear early earth easily east easy eat economic
edge education eight electric employee employees end ended ends energy enjoy enough enter entire environment
environmental equal equipment especially essential establish established establishment evening evidence
exact exactly except exist existing exists expensive expert experts express extra extreme eye eyes face fail
fall falls false family families famous far farm fast father favorite fear feel feeling feelings feet fell
felt field fields fight figure fill filled final finally finger fire firm first fish fit five fix flat floor
flow follow followed following follows food foods foot force foreign forget former forward four free fresh
friend friends front fruit full fully fun funny future gain game games garden gas gather gave girl glass go
goal goals goes going gold gone government grade gradually great greater greatest green ground group groups
grow growing grown growth guide guidelines guess hair half hall hand hands happen happened happens happy
hard head health healthy hear heard heart heat heavy height held hello hidden hill hold holds hole home
homes hope horse hospital hot hotel hour hours house houses human humans hundred husband ice idea ideas
image immediately improve improved inch inches increase increased increases increasing independent indicate
industry initial inner inside intended interest interesting international internet island item items job
join joined judge keep keeps kept kid kids kill kilometer king kitchen knew lack lady lake land language
last late later latest laugh law laws lay layer learn learned learning leave leaves left leg legal legs
length letter letters lie life lift light likely limit limited line lines link list listed listen little
live lived lives living load local located location lose loss lost lot lots love luck lunch machine mail
maintain maintained majority male man manage management manner map mark market marriage married mass match
material materials matter mean meaning means meant meat media medical medicine meet meeting member members
memory men mental mention mentioned message metal middle mile miles military milk million mind minor minute
minutes miss mix mixed model models moment money month months moon morning mother motion mountain mouth move
moved movement moves movie multiple music name named names narrow nation national native natural nature near
nearly necessary neck negative new news next nice night nine noise normal normally north nose note notes
nothing notice object objects observe obtain ocean offer offered offers office official oil old older once
open opened operate operation opinion opportunity opposite option options order ordinary organization
original originally outcome outcomes outside owner page paid pain paint pair paper parent parents park party
pass passed past path pattern patterns pay payment peace percent perfect perform performance perhaps period
permanent personal phone photo phrase physical pick picture piece pieces place placed places plain plan
plane planning plant plants plate player please plenty pocket police policy policies political poor popular
population position positive possibly power powerful prefer preferred prepare prepared presence present
presented president press pressure pretty prevent prevents previous price prices print private probably
produce produced produces product production products professional program programs progress project
projects promise proper properly property properties protect protected protection prove public pull pure
push put quality quantity question questions quick quickly quiet race radio rain raise raised ran reach
reached react read reader ready real reality realize really reason reasons receive received recognize
recognized record recorded records red reduce reduced reduces reducing refer referred refers regarding
region regions regular regularly remain remained remains remember remove removed repair repeat replace
replaced report reported reports represent represents research resource resources respect respond response
rest return returned rich ride right rights ring rise risen rises river road rock role room rooms root rough
round rule rules run running runs rural sad safe safely safety said salt sand sat save saw say says scale
school schools science scientific scientists score sea search season seasonal seasons seat second seconds
secret section security see seek seem seemed seems seen sell send sense sensitive sent separate series
serious serve served service services seven severe severity sex share sharp sheet ship shop shore shoulder
shut sick side sides sign signal signs silver similar simple simply sing single sister sit site sites six
size sizes skill skills skin sky sleep slow slowly smell smooth snow social society soft soil sold soldier
solid solve son song soon sort sound source sources south space speak special speed spend spent sport spot
spread spring square stage stages stand standing star start started starting starts state states statement
station stay steel stop stopped store stories storm story straight strange street strength stress strong
structure student students study studies style subject substance sudden sugar suggest suggests suitable
summer sun supply sure surface surprise surround surrounding survive sweet swim system systems table tail
talk tall task taste teach teacher team technique techniques technology tell temperature temperatures ten
test tests text thank thick thin thing things think third thought thousand thousands three throw tie tight
tiny tired title today together told tomorrow tone tonight took tool tools tooth top total touch tour
tourism town track trade train training transfer travel treat treated treatment treatments tree trees trip
trouble true trust truth try trying turn turned turns twelve twenty twice two understood unit units
university unless unusual upper urban usual valley valuable value values variety vast version view village
visit visitors visual voice volume wait walk wall want wanted wants war warm wash watch water wave weak wear
weather website week weekly weeks weight well went west wet wheel white whole wide wild win wind window
winter wish woman women wonder wood word words world worry worse worst worth write writer writing written
wrong year years yellow young zero account america american british english european french german january
february march april june july august september october november december monday tuesday wednesday thursday
friday saturday sunday
"""

TOPICAL = """
abdomen absorb absorption abuse academic accident acid acidic acre adapt adaptation addiction adolescent
adult adverse aerobic agency agricultural agriculture aircraft airline airport alarm album alcohol algebra
algorithm allergy alloy alpha altitude aluminum amendment ammonia amphibian amplitude anatomy ancestor
ancient anemia anesthesia angle ankle annual antenna anterior antibiotic antibody antigen anxiety appetite
apple appliance appoint aquatic arctic arid arrest artery arthritis artificial artist asphalt aspirin
assembly asset asthma astronaut astronomy athlete atmosphere atom atomic attorney audience audio audit
author authority autism autumn avian award axis bacon bacteria bacterial balance ballot bamboo banana
bandwidth barley bark barrier basement basin basket battery battle beach bean bear beauty bee beef beer
beetle benign bible biology birch bird birth bishop blade bladder blanket bleach bleeding blood bloom boat
boiling bolt bomb bond bone border botany bowl brain brake branch brand brass bread breakfast breast breath
breathing breed breeding brick bridge broadcast bronze brush bubble bucket budget bug bulb bulk bull bundle
burial burrow bus bush butter butterfly button cabin cabinet cable cactus calcium calculate calculation
calculator calendar calorie camera camp campaign canal cancer candidate candle cannon canvas canyon carbon
cardiac career cargo caribbean carpet carrier carrot cartilage castle cat catalog catalyst cathedral cattle
cavity ceiling celebrate cell cells cellular cement cemetery ceramic cereal certificate certification
cervical chain chair chamber champion channel chapel charcoal charity chart cheese chef chemical chemistry
cherry chest chicken chimney chin chip chlorine chocolate cholesterol chorus christian chronic chronicle
church circle circuit circulation circumference citizen civil civilization claim classical classification
clause clay client cliff climate clinic clinical clock clone cloth cloud club clutch coal coastal cocoa
coconut code coffee cognitive coin collagen colony colonial column comedy comet commerce commercial
commission committee communication community competition compiler compound compress compression computing
concentration concert concrete condense conductor cone conference conflict congress conifer connective
conquest conscious constitution construct construction consumer consumption container contamination
continent contour contract contraction conversion copper copyright coral core corn coronary corporate
corporation correlation corrosion cortex cosmetic cotton cough council court covenant cow crab crater cream
credit creek crew crime criminal crisis crop cross crown crust crystal cube cuisine cultivate cultivation
curve custom customer cylinder dairy dam dance debate debt debut deer defect defense deficiency deficit
dehydration delivery democracy democratic demographic density dental dentist deposit depression depth desert
desk dessert detection detergent diabetes diagnosis diagnostic diagram dialect diameter diamond diarrhea
diet dietary diffusion digestion digestive digital dinner dinosaur diploma disability disaster discount
discrimination disease diseases disorder disorders dispute dissolve distribution district dividend divorce
doctor doctrine document documentation dog dolphin domain domestic dominant donor dosage dose doses dough
dragon drainage drama drought drug drugs drum duck duration dust duty dwarf dynasty eagle earnings
earthquake eclipse ecology economy ecosystem editor efficiency egg eggs elbow election electrical
electricity electrode electron electronic elementary elephant elevation elevator elite embassy embryo
emergency emission emotion emotional emperor empire employer employment endocrine enemy engine engineer
engineering entertainment enzyme enzymes epic epidemic equation equator equity erosion error estate estimate
estrogen ethanol ethics ethnic evaporation exam exercise exhaust exile expansion expedition experiment
explosion export exposure expression extinct extract fabric facility faculty fairy faith fabricate farmer
fashion fat fatigue fatty feather federal fee female fence fermentation fern fertile fertility fertilizer
festival fetus fever fiber fiction filament file film filter finance financial fishing flame flavor flea
fleas flight flood flooring flour flower flowers fluid flute folk follicle football forecast forest fossil
foundation fracture fragment franchise fraud freedom freezing frequency friction frog fuel fund fungus
fungal funding fur furniture fuse galaxy gallon gamma garage garlic gasoline gate gathering gender gene
generation genes genetic genital genome genre geography geology geometric geometry ghost giant gland glacier
global glucose goat goldfish golf gospel gothic governor grain gram grammar granite graph grape graphic
grass gravity grazing greek grief grocery guard guest guilt guitar gulf gum gun habitat hammer handle harbor
hardware harvest hawk hay hazard headache healing hearing hemisphere herb herbal heritage hernia herpes hero
highway hip hire hockey holiday holy honey hook hormone hormones horn horror host household housing humidity
humor hunter hunting hurricane hybrid hydrogen hygiene hypothesis identity idiom illegal illness imagination
immigrant immigration immune immunity imperial implant import incident income index indian indigenous
induction infant infection infections infectious inflammation inflammatory inflation infrastructure
ingredient ingredients inheritance injection injury injuries ink insect insects inspection install
installation institute instruction instrument insulation insulin insurance integer intelligence intense
interior interval intestine invasion invasive invention inventor inventory investment investor iron
irrigation isotope ivory jacket jaw jazz jet jewelry joint journal journalist judgment judicial juice jungle
jurisdiction jury justice juvenile kernel kidney kingdom knee knife knight laboratory labor ladder lamb lamp
landscape larva larvae laser latin latitude laundry lava lawn lawsuit lawyer lead leaf league leather
legislation legislature lemon lens lesion lesson lettuce liability library license ligament lightning limb
lime limestone linear linen linguistic lion lipid liquid literacy literary literature litter liver livestock
lizard loan lobby logic loop lottery lumber lunar lung lyrics magazine magnet magnetic magnitude maize
malaria mammal mammals mandate manufacture manufacturer maple marble margin marine maritime marketing marrow
mask masonry maternal mathematics matrix mayor meal measles mechanic mechanical mechanism medal medicaid
medicare medication medications medieval melody melting membrane menu mercury merger metabolic metabolism
meteor meter methane metric microbe microscope microwave migration mild mineral minerals mining minister
miracle mirror missile mission mitochondria moisture molecular molecule molecules monarch monetary monitor
monkey monument morphology mortality mortgage mosque mosquito motor mountains mouse mud municipal muscle
muscles museum mushroom musical musician mutation myth mythology nail nasal naval navigation navy needle
needles negligence neighborhood nerve nerves nervous nest network neuron neutral nickel nitrogen noble nomad
noun novel nuclear nucleus nurse nursing nutrient nutrients nutrition oak oat obesity obligation oblique
observatory offender olive onion opera operating optical oral orange orbit orchard orchestra ore organ
organic organism organisms organs orientation origin ornament orphan outbreak oven ovary oxide oxygen oyster
packet paddle paragraph parallel paralysis parasite parasites parcel parliament parody particle particles
passenger passive pasta pastor pasture patent patient patients peach peak peanut peasant pelvic pelvis
pension peninsula pepper peptide perimeter permit personality pest pesticide petition petroleum pharmacy
phase phenomenon philosophy phosphate photon physician physics physiology piano pigment pilgrim pilot pine
pipe pipeline pirate pitch pizza planet planets plasma plastic plateau platform plow plowing plumbing plural
pneumonia poem poet poetry poison polar pole pollen pollution polymer pond pope porcelain pork port
portfolio portrait posterior potassium potato pottery poverty powder prayer precipitation predator pregnancy
pregnant premium prescription preservation prey priest prince princess prison privacy probability profit
prophet prostate protein proteins protest protocol province psychological psychology psychologist
publication publisher pulse pump pupil purchase pyramid python quantum quarry queen rabbit radar radiation
radical radius railway rainfall ranch ratio ray reaction reactor rebel rebellion receipt receptor receptors
recipe recovery rectangle recycling referee reflection reform refrigerator refugee regime regulation
regulations religion religious renal rent repository reproduction reproductive reptile republic reservoir
residence resident resin resistance respiratory restaurant retail retirement revenue revolution rhythm rib
rice rifle ritual rival robot rocket roman roof rope rotation router royal rubber ruler rust sacred sail
saint salad salary sale saliva salmon sanction sanctuary sandwich satellite sauce scalp scandal scar
schedule scholar scholarship screen screw script sculpture seafood seal seaweed secretary sediment seed
seeds segment seizure semester senate senator senior sensor sensory sentence sequence sermon servant server
settlement sewage shadow shaft shallow shark shear sheep shell shelter shield shingles shipping shirt shoe
shock shooting shrimp shrub sibling siege silicon silk singer skeleton skull slave slavery slope snake snow
soap soccer socialism sodium software solar solder solution solvent sonata soul soup soy spacecraft spatial
species specimen spectrum spell sperm spice spider spinal spine spirit spiritual spleen sponge spruce squad
squirrel stadium staff stain stairs stamp starch statistics statue statute steam stem stereo steroid
stimulus stomach stone stool stream stroke sub subsidy suburb suicide suit sulfur supermarket supplement
supplements supreme surgeon surgery surgical survey survival sustainable suspect swallow swamp swelling
sword syllable symbol symbolic symmetry sympathy symphony symptom symptoms synapse syndrome syntax synthesis
synthetic syrup tablet tactic tank tape target tariff tax taxes tea tectonic teeth telephone telescope
television temple tenant tendon tennis tension tent territory terrorism testosterone textile texture theater
theme theology theorem theory therapy thermal thermometer thesis throat thunder thyroid ticket tide tiger
timber tissue tissues tobacco toe toilet tomato tongue topography tornado tourist toxic toxin tractor
tradition traffic tragedy trail transaction transcription transistor translation transmission transplant
transport trapezoid trauma treasure treaty trench trial triangle tribe tribute trigger tropical truck
trumpet trunk tsunami tube tuition tumor tunnel turbine turtle twin ulcer ultrasound umbrella unemployment
uniform union universe uranium urine urinary uterus vaccine vacuum valve van vapor variable vascular
vegetable vegetables vehicle vehicles vein velocity vendor ventilation ventilator venue verb verdict verse
vertebra vertical vessel veteran victim victory video vinegar violence violin viral virtual virus visa
visceral vision vitamin vitamins vocabulary vocal volcanic volcano voltage voluntary volunteer vote voter
voting voyage wage wagon warehouse warfare warrant warranty waste wavelength wealth weapon weapons wedding
weed wetland whale wheat wildlife willow wine wing wire wireless wisdom witness wolf womb wool workshop worm
wound wrist yacht yeast yield yoga zinc zone
"""

PREFIXES = """
anti auto bio cardi chloro chromo counter cryo cyber cyto de dermato dis ecto electro endo epi eu exo extra
fibro gastro geo glyco hemi hemo hepato hetero homo hydro hyper hypo immuno infra inter intra iso kilo lipo
litho macro magneto mal mega meso meta micro mid mis mono multi myo nano neo nephro neuro non omni ortho
osteo over paleo pan para patho peri pharma phono photo phyto poly post pre pro proto pseudo psycho pyro
radio re retro semi socio spectro sub super supra sym syn tele tetra theo thermo trans tri ultra un under
uni vaso xeno zoo
"""

ROOTS = """
act aero agri anthrop arch arthr aud bacter ben calor cap card caust ced cephal cern chem chrom chron cid
cis clar clin clud cogn cor corp cosm cred crit cur cycl dact dem dent derm dict doc dom don duct dyn ecolog
erg fac fer fid flect flor flu foli form fract fug fus gam gen ger glot gnos grad gram graph greg gyn hab
hal hydr ject jud junct lab lact lat leg lev lin lingu liter lith loc log luc lumin lys mand man mar mater
medi mem ment merc migr min mit mob mon morph mort mut nat nav nec neg nom norm nov numer nutr ocul oper opt
orb ord ori pac parl path ped pel pend phag phil phob phon phor phot phys plas plic pod pol pon port pos pot
prim psych pter puls put quer quin rad ras rect reg rupt san sat scend sci scop scrib sect sed sens sequ
serv sign sist sol solv som son soph spec sper spir sta stell stru sum tact tain techn temp ten term terr
test tex therm tom tors tort tot tox tract trop trud turb typ umbr urb vac val vas ven verb verg vers vert
vid vinc vir vis vit viv voc vol volv vor
"""

SUFFIXES = """
able age al an ance ant ar ary ase ate ation ator cide cion cy cyte dom ectomy ed ee eer emia en ence ency
ent er ery es ese esis esque ess est ette ful fy gen genic gram graph graphy hood ia ial ian iasis ible ic
ical ics id ide ie ify ile in ine ing ious ise ish ism ist ite itis ity ium ive ization ize less let ling
logy ly man ment meter metry morph ness nomy oid ol oma or ory ose osis ous path pathy phile phobia plasty
ric s scope scopy ship sion some ster th tion tomy tory trophic ty ular ure ward ware wise y zoa
"""


def words(block: str) -> list[str]:
    """The distinct words of a block, in order."""
    return list(dict.fromkeys(block.split()))
