"""Words that turn a statement around: negations in many languages, and words of which only one can be true.

Data for `likeness.py`. A word too many here keeps two memories apart that say the same;
a word too few joins two that do not, so the lists are rather long than short.
"""

from __future__ import annotations

import re
from typing import Final

#: Words that deny, in languages that put spaces between words.
NEGATIONS: Final = frozenset(
    word
    for line in (
        "not no never none nobody nothing nowhere neither nor cannot without hardly barely scarcely rarely seldom",
        "dont doesnt didnt isnt arent wasnt werent cant couldnt wont wouldnt shouldnt hasnt havent hadnt",
        "longer anymore former formerly ex previously unable lack lacks lacking",
        "nicht kein keine keinen keinem keiner keines nie niemals niemand nichts nirgends ohne weder kaum mehr",
        "ne pas jamais aucun aucune rien sans ni non plus guère",
        "nunca jamás nadie nada ningún ninguno ninguna sin tampoco ya",
        "mai nessuno nessuna nessun niente nulla senza né neanche più",
        "não ninguém nenhum nenhuma sem nem jamais mais",
        "niet geen nooit niets zonder inte ej aldrig ingen inget inga ingenting utan ikke ikkje aldri uten uden",
        "nie nigdy nikt nic bez nikdy nikdo nic není nem soha senki nincs nu niciodată nimeni fără ei älä",
        "не нет ни никогда никто ничего нигде без нельзя больше перестал перестала ні ніколи ніхто немає няма никой",
        "değil yok hiç asla δεν μην όχι ποτέ κανείς χωρίς",
        "لا ليس ليست لم لن غير بدون لست نه نیست بدون ندارد לא אין בלי אף מעולם",
        "नहीं न मत बिना कभी না নেই নয়",
        "tidak bukan tanpa jangan belum tak không chẳng chưa hindi wala sio hapana bila",
        "안 못 아니 없다 않다",
    )
    for word in line.split()
)

#: The same inside words, or in scripts without spaces.
NEGATION_PARTS: Final = re.compile(
    "[不没沒無无非未勿否别]|な(?:い|か[っろ]|く(?:て|な))|ませ[んぬ]|(?<=[わかさたなまらばが])ぬ"
    "|않|없|아니|못|지\\s?마|ไม่|มิได้|ไร้|မဟုတ်|គ្មាន|មិន"
)

_OPPOSITES: Final = """
always constantly | never | sometimes occasionally | often frequently usually | rarely seldom hardly
all every each | none | most | few | only
brother | sister
mother mum mom mummy mommy | father dad daddy
son | daughter | child kid
husband | wife
uncle | aunt | cousin | nephew | niece
grandmother grandma granny | grandfather grandpa
boyfriend | girlfriend
man guy gentleman men bloke | woman lady women | boy lad | girl lass
male | female
king | queen
he him his himself | she her hers herself | i me my mine myself user | you your yours yourself | we us our ours | it its
left | right
up upward upstairs | down downward downstairs
in inside into indoors | out outside outdoors
on onto | off
over above | under below beneath underneath
before | after | during
early | late
earlier | later
front ahead forward | back behind backward
to | from
with | without
for | with | against | about
and | or
near close nearby | far distant away
north | south | east | west
northern | southern | eastern | western
first | second | third | fourth | fifth | last final
january jan | february feb | march mar | april apr | may | june jun | july jul | august aug | september sep sept
october oct | november nov | december dec
monday mon | tuesday tue tues | wednesday wed | thursday thu thurs | friday fri | saturday sat | sunday sun
spring | summer | autumn fall | winter
morning | noon midday | afternoon | evening | night | midnight
am | pm
today | tomorrow | yesterday
day daily | week weekly | month monthly | year yearly annual annually | hour hourly | minute | second
breakfast | lunch | dinner supper
big large huge great enormous giant | small little tiny | medium
tall high | short low
long lengthy | short brief
wide broad | narrow
thick | thin
heavy | light lightweight
fast quick rapid quickly rapidly | slow slowly
hot warm | cold cool
wet | dry
full | empty
open opened | close closed shut
start begin commence | stop end finish quit cease
buy purchase | sell
give | take receive get
push | pull
put place | take remove
add | remove delete subtract
win | lose
love like enjoy adore prefer favour | hate dislike detest loathe
accept approve agree | reject refuse decline disagree
allow permit | forbid ban prohibit
come arrive enter | go leave depart exit
rise increase raise grow | fall decrease reduce drop shrink
ascend climb | descend
lift | lower drop
wear | undress
sit | stand | lie | run | walk | jump | sleep | swim | dance | fly
laugh smile | cry weep frown
sleep asleep | wake awake
alive living live | dead die
marry wed married | divorce divorced | single unmarried | engaged | widowed | separated
employed | unemployed | retired
hire | fire dismiss
teach | learn
lend | borrow
ask question | answer reply
remember | forget
pass | fail
true right correct | false wrong incorrect
yes | no
good great excellent | bad poor terrible awful
best | worst
better | worse
more | less fewer
most | least
maximum max | minimum min
happy glad joyful | sad unhappy | angry
rich wealthy | poor
strong | weak
young | old elderly
new | old used
clean | dirty
easy simple | difficult hard
safe | dangerous unsafe
loud noisy | quiet silent
beautiful pretty | ugly
cheap inexpensive | expensive costly
public | private
same identical | different
possible | impossible
legal | illegal
vegan | vegetarian | carnivore omnivore | pescatarian
tea | coffee | juice | water | milk | beer | wine | soda
cat kitten | dog puppy | bird | fish | horse | cow | pig | sheep | goat | rabbit | monkey | mouse | tiger | lion | bear
red | blue | green | yellow | orange | purple violet | pink | brown | black | white | grey gray | beige | turquoise
car | bicycle bike | bus | train | plane airplane aircraft | boat ship | truck lorry | motorcycle motorbike
guitar | piano | violin | drum | flute | trumpet | cello | saxophone
football soccer | basketball | tennis | baseball | volleyball | golf | hockey | rugby | cricket
beef | pork | chicken | lamb | fish | tofu
mountain | beach | desert | forest | river | lake | sea ocean | city town | village
add sum | divide | multiply
cut slice chop | glue join
upload | download
enable activate | disable deactivate
import | export
internal | external
success succeed | failure fail
profit gain | loss
parent | child
teacher | student pupil
doctor | nurse | patient
employer | employee
landlord | tenant
owner | renter
weekday | weekend
day | night
bruder | schwester
mutter | vater
sohn | tochter
links | rechts
immer | nie niemals | manchmal | oft | selten
vor | nach
mit | ohne
liebt mag liebe | hasst hasse
kalt | warm heiß
groß | klein
frère | sœur soeur
mère | père
fils | fille
gauche | droite
toujours | jamais | souvent | parfois
avant | après
avec | sans
aime adore | déteste
grand | petit
hermano | hermana
madre | padre
hijo | hija
izquierda | derecha
siempre | nunca | a_veces
antes | después
con | sin
grande | pequeño
fratello | sorella
sinistra | destra
sempre | mai | spesso
prima | dopo
irmão | irmã
mãe | pai
esquerda | direita
antes | depois
брат | сестра
мать мама | отец папа
сын | дочь
левый слева налево | правый справа направо
всегда | никогда | иногда | часто | редко
до | после
с | без
любит люблю нравится | ненавидит ненавижу
большой | маленький
"""

#: Each line of words of which only one can be true, and the words that mean the same within it.
EXCLUSIVE: Final = tuple(
    tuple(tuple(side.split()) for side in line.split("|")) for line in _OPPOSITES.splitlines() if line.strip()
)

#: Words that say that something is not so yet, or may never be.
MODALS: Final = frozenset(
    word
    for line in (
        "will would could might should shall maybe perhaps possibly probably if unless gonna",
        "wird werde würde könnte sollte vielleicht wenn peut-être si tal vez quizás forse talvez se",
        "может возможно если будет буду",
    )
    for word in line.split()
)

#: Words that make another statement of one when they are added: whose it is, how much of it is so, who only thinks so.
QUALIFIERS: Final = frozenset(
    word
    for line in (
        "brother sister mother mum mom father dad parent son daughter child kid husband wife partner spouse family",
        "boyfriend girlfriend uncle aunt cousin nephew niece grandmother grandma grandfather grandpa friend colleague",
        "coworker boss manager neighbour neighbor teacher student roommate flatmate landlord tenant client baby",
        "only almost nearly partly partially half except but fake alleged supposed aspiring retired temporary",
        "try want plan hope wish consider think believe say claim pretend dream intend need expect ask suggest decide",
        "stop quit cease avoid refuse forget fail sometimes occasionally often usually always once again yet still",
        "all every most many few more less first last next other main best worst old new",
        "bruder schwester mutter vater freund freundin kollege chef nur fast manchmal oft immer will möchte plant",
        "frère sœur mère père ami amie collègue seulement presque parfois souvent toujours veut voudrait",
        "hermano hermana madre padre amigo amiga colega solo casi siempre quiere fratello sorella amico amica vuole",
        "irmão irmã mãe pai quer quase брат сестра мать отец друг подруга коллега только почти иногда всегда хочет",
    )
    for word in line.split()
)

#: Present forms of lasting states and their past forms: what was so need not be so.
STATES: Final = tuple(
    (past, present)
    for past, present in (
        pair.split(":")
        for line in (
            "was:is was:am were:are lived:live worked:work owned:own liked:like loved:love hated:hate had:have",
            "studied:study wanted:want wohnte:wohnt lebte:lebt war:ist arbeitete:arbeitet mochte:mag hatte:hat",
            "habitait:habite était:est travaillait:travaille aimait:aime avait:a vivía:vive trabajaba:trabaja era:es",
            "tenía:tiene viveva:vive lavorava:lavora aveva:ha morava:mora trabalhava:trabalha жил:живёт жила:живёт",
            "работал:работает работала:работает любил:любит любила:любит",
        )
        for pair in line.split()
    )
)
