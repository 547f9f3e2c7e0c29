/**
 * Words that people use for what tools name otherwise, as data: general English and the jargon of software, of no
 * particular server. `=` begins a line of spellings and abbreviations of one thing, `~` a line of words that often mean
 * the same, `>` a word and what it may be called besides, which does not hold the other way round.
 */
import { stemWord } from './words.ts';

const lines = `
= repository repo repositories
= directory folder dir
= database db
= configuration config configure
= documentation docs doc
= image picture photo photograph img pic
= message msg
= information info
= environment env
= javascript js
= typescript ts
= python py
= kubernetes k8s
= authentication auth authenticate authorize login signin
= organization organisation org
= analyze analyse analysis
= summary summarize summarise
= visualize visualise visualization
= color colour
= favorite favourite
= synchronize sync
= attribute attr
= parameter param
= application app
= specification spec
= maximum max
= minimum min
= number num
= identifier id
= markdown md
= jpeg jpg
= email mail
= todo task
= spreadsheet excel xlsx xls workbook
= presentation powerpoint pptx slides deck
= vertex node
= organize arrange
= temporary temp tmp
= statistics stats stat statistic
= conversion convert
= deletion delete
= difference diff
= connection connect
= description describe
= explanation explain
= translation translate translator
= transcription transcribe transcript
= url link uri href
= webpage website site page web
= geocode coordinates latitude longitude
= timezone zone
= cryptocurrency crypto bitcoin coin
~ create make add new insert generate
~ create open start
~ write save create put
~ delete remove erase drop clear destroy discard trash purge rid
~ list show enumerate display see browse view
~ get fetch retrieve read show view obtain lookup load
~ get check see
~ update edit modify change alter set adjust revise replace
~ rename move
~ search find look query locate lookup
~ send post deliver submit publish
~ notify alert notification warn send
~ run execute invoke launch perform evaluate
~ start launch begin open spawn
~ stop end kill terminate cancel halt abort quit close shutdown
~ upload push import attach
~ download fetch save pull export grab
~ copy duplicate clone
~ move relocate transfer drag
~ compare difference versus
~ convert transform turn change export
~ compress zip archive pack shrink
~ extract unzip unpack decompress
~ extract scrape parse
~ merge combine join concatenate
~ split divide separate
~ check verify validate test inspect
~ analyze examine inspect review evaluate assess
~ count total many number
~ calculate compute evaluate math arithmetic
~ plot chart graph diagram visualize
~ draw sketch diagram
~ screenshot capture snapshot
~ navigate visit open go browse goto
~ click press tap
~ type fill enter input
~ wait pause sleep delay
~ file document
~ text content string
~ message chat dm conversation
~ remember memory memorize store save recall note
~ forget delete memory
~ task reminder item
~ issue bug ticket problem
~ comment reply remark feedback
~ history log past previous earlier
~ log logs output
~ table sheet
~ row record entry
~ column field property
~ schema structure columns
~ calendar event meeting appointment schedule agenda
~ time clock hour now
~ date day
~ weather forecast temperature
~ map location place address
~ route direction navigate
~ distance far
~ audio sound music song track
~ video movie film clip
~ user account member person people
~ team group
~ permission access role right
~ password credential secret
~ setting preference option configuration
~ install setup
~ package library module dependency
~ version release
~ deploy publish release
~ server host machine
~ error exception failure crash wrong
~ status state health progress
~ metric measure performance
~ monitor watch observe
~ price cost quote
~ stock share ticker
~ money currency payment
~ order purchase buy
~ customer client contact
~ console terminal shell command
~ script code program function
~ request api http call
~ entity node object
~ relation relationship edge
~ think reason thought
~ ask question
~ answer reply response respond
~ knowledge fact
~ average mean
~ sum add total
~ multiply product times
~ subtract minus
~ hash checksum digest
~ size large big
~ resize scale
~ crop trim
~ window tab
~ tag label category
~ restore recover undo revert rollback
~ sort order rank
~ near nearby around
~ restaurant food
~ news article headline
~ paper article publication
~ style css
~ component widget
~ draft prepare compose
~ keep store save remember
~ recall remember memory
~ know knowledge memory
~ track follow monitor
~ permit allow
~ touch modify update
~ approve accept review
~ reject decline refuse
~ assign give
~ label tag
~ shift move
~ nest move parent
~ heading section header
~ undo reopen restore reset
~ finish complete done close resolve
~ complete finish mark
~ invite add member
~ share collaborator invite
~ mention notify
~ react reaction emoji
~ google search web
~ latest recent newest last current
~ rename update title name
~ explain describe
~ reviews rating
~ rating score vote
~ born birth biography
~ actor cast credit person
~ movie show tv
~ pod container deployment
~ restart reboot
~ scale replica
~ forward redirect
~ swipe scroll gesture
~ press button key
~ pic screenshot
~ phone mobile device
~ tap touch click
~ hover mouse
~ invoice bill
~ bill payable invoice
~ expense cost spend transaction
~ budget spend money
~ employee staff payroll
~ holiday leave vacation
~ tax vat
~ profit income earnings revenue
~ dividend payout
~ forecast predict
~ earthquake disaster
~ tide sea marine
~ sunrise sunset sun
~ commute transit transport directions
~ elevation height altitude high
~ nearby local around
~ list collection
~ board project
~ card task ticket item
~ due deadline
~ subtask child
~ attach attachment upload
~ checklist todo
~ thread reply conversation
~ channel room
~ stage add
~ publish push
~ blame author
~ clone checkout
~ initialize init setup
~ pie donut share
~ bar column histogram
~ trend line
~ hierarchy tree org
~ flow process
~ compute aggregate
~ group aggregate
~ index optimize
~ cite citation reference
~ abstract summary
~ author writer
~ journal publication
~ study paper trial
~ build pipeline ci job
~ fail flaky error
~ rerun retry again
~ trace span
~ dashboard panel
~ incident outage
~ mute silence
~ broadcast send
~ quota limit usage
~ convert timezone
~ duration long between
~ week day
~ page block content
~ clear empty
~ upload attach
~ sign login
~ logout signout
~ cookie session storage
~ intercept mock route
~ record video trace
~ js script evaluate
> pr pull request
> mr merge request
> cli command line
> gif animation image
> png image
> svg image vector
> csv table spreadsheet
> docx word document
> spreadsheet sheet cell
> dropdown select option
> button click element
> rain weather
> drive directions route
> how status
> kick remove member
> ban remove
> pause stop
> resume start
`;

/** What people ask about rather than for: tools that read are meant. */
const readingWords = 'list get search find read show retrieve fetch query view';
export const readingStems: readonly string[] = readingWords.split(' ').map(stemWord);

export interface RelatedWord {
  readonly stem: string;
  readonly isSame: boolean;
}

/** By stem: what else may be meant by it. */
export const relatedWords: ReadonlyMap<string, readonly RelatedWord[]> = readLines();

function readLines(): ReadonlyMap<string, readonly RelatedWord[]> {
  const related = new Map<string, Map<string, boolean>>();
  const relate = (from: string, to: string, isSame: boolean): void => {
    if (from === to) return;
    const known = related.get(from) ?? new Map<string, boolean>();
    known.set(to, isSame || known.get(to) === true);
    related.set(from, known);
  };
  for (const line of lines.trim().split('\n')) {
    const [kind, ...words] = line.split(' ');
    const stems = words.map(stemWord);
    const sources = kind === '>' ? stems.slice(0, 1) : stems;
    for (const from of sources) for (const to of stems) relate(from, to, kind === '=');
  }
  return new Map(
    [...related].map(([stem, known]) => [stem, [...known].map(([to, isSame]) => ({ stem: to, isSame }))]),
  );
}
