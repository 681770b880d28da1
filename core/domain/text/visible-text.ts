/**
 * Matches a text that may contain a character of `HIDDEN`, or a surrogate: a fast test of code units, which plain ASCII
 * with line breaks never matches.
 */
const SUSPECT =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it must find
  // biome-ignore lint/suspicious/noMisleadingCharacterClass: single code units are meant
  /[\0-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u2800\u3164\ud800-\udfff\ufdd0-\ufdef\ufe00-\ufe0f\ufeff\uffa0\ufff0-\uffff]/

/** Runs of the same characters; a character outside of the BMP is never divided. */
const SUSPECTS =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it must find
  // biome-ignore lint/suspicious/noMisleadingCharacterClass: single code units are meant
  /[\0-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u2800\u3164\ud800-\udfff\ufdd0-\ufdef\ufe00-\ufe0f\ufeff\uffa0\ufff0-\uffff]+/g

/**
 * Characters that people do not see: control and format characters, line and paragraph separators, fillers, variation selectors,
 * unpaired surrogates, noncharacters, and the blank of Braille. The Arabic and Kaithi number marks are of the same category
 * as format characters but are drawn.
 */
const HIDDEN =
  /^(?![\u0600-\u0605\u06dd\u070f\u0890\u0891\u08e2\u{110bd}\u{110cd}])[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\p{Noncharacter_Code_Point}\u2800]$/u

const PICTURE = String.raw`\p{Extended_Pictographic}(?:\ufe0f|\p{Emoji_Modifier})?`
/** Scripts in which a joiner between two letters changes how these are drawn, such as Persian and Malayalam (RFC 5892, A.1). */
const JOINED = [
  'Arabic',
  'Syriac',
  'Mongolian',
  'Nko',
  'Devanagari',
  'Bengali',
  'Gurmukhi',
  'Gujarati',
  'Oriya',
  'Tamil',
]
  .concat('Telugu', 'Kannada', 'Malayalam', 'Sinhala', 'Khmer', 'Myanmar')
  .map(script => String.raw`\p{Script=${script}}`)
  .join('')
/** Tags of the three flags that have any: England, Scotland and Wales. */
const FLAGS = ['gbeng', 'gbsct', 'gbwls'].map(letters =>
  [...letters, '\x7f'].map(letter => String.fromCodePoint(0xe0000 + letter.charCodeAt(0))).join(''),
)

/** Sequences whose hidden characters belong to the visible text: emoji, keycaps, flags, and joiners within a script. */
const LEGITIMATE = new RegExp(
  [
    String.raw`\u{1f3f4}(?:${FLAGS.join('|')})`,
    String.raw`${PICTURE}(?:\u200d${PICTURE})+`,
    String.raw`\p{Extended_Pictographic}[\ufe0e\ufe0f]`,
    String.raw`[0-9#*]\ufe0f\u20e3`,
    String.raw`(?<=[${JOINED}])[\u200c\u200d](?=[${JOINED}])`,
    String.raw`(?<=\p{Script=Mongolian})[\u180b-\u180d\u180f]`,
  ].join('|'),
  'gu',
)

/** Characters of which each legitimate sequence has at least one. */
// biome-ignore lint/suspicious/noMisleadingCharacterClass: single code units are meant
const JOINERS = /[\u200c\u200d\ufe0e\ufe0f\u180b-\u180f\udb40]/g
/**
 * Above this number of them legitimate sequences are not searched: no real text has this many, and it would take milliseconds.
 */
const MOST_JOINERS = 500
const LINE_END = /\r\n/g

/**
 * Returns a text of several lines in which every character that is invisible, or that changes how others are shown, is written
 * as `⟨U+202E⟩`. Line feeds and tabs stay, CR LF becomes a line feed; emoji sequences and the joiners of scripts that need them
 * stay. Applying it twice gives the same result.
 */
export function visibleText(text: string): string {
  return SUSPECT.test(text) ? replaced(text.replace(LINE_END, '\n'), mark, true) : text
}

/** The same for a name or a text of one line: line ends and tabs are shown as well. */
export function visibleName(text: string): string {
  return SUSPECT.test(text) ? replaced(text, mark, false) : text
}

/** JSON text in which those characters are escaped (`\u202e`), so that it reads back as the same value. */
export function escapeHidden(json: string): string {
  return SUSPECT.test(json) ? replaced(json, jsonEscape, true) : json
}

/** True when `visibleName` would change a text. `lines`: whether `visibleText` would, but for CR LF. */
export function hasHidden(text: string, { lines = false }: { readonly lines?: boolean } = {}): boolean {
  const given = lines ? text.replace(LINE_END, '\n') : text
  return (lines ? visibleText(given) : visibleName(given)) !== given
}

function replaced(text: string, replace: (character: string) => string, lines: boolean): string {
  // A text that is made of hidden characters mostly repeats the same few.
  const known = new Map<string, string>()
  const shown = (character: string): string => {
    const before = known.get(character)
    if (before !== undefined) return before
    const isKept = (lines && (character === '\n' || character === '\t')) || !HIDDEN.test(character)
    const after = isKept ? character : replace(character)
    known.set(character, after)
    return after
  }
  const run = (characters: string): string => {
    let done = ''
    for (const character of characters) done += shown(character)
    return done
  }
  const joiners = text.match(JOINERS)?.length ?? 0
  if (joiners === 0 || joiners > MOST_JOINERS) return text.replace(SUSPECTS, run)
  let done = ''
  let from = 0
  for (const { 0: whole, index } of text.matchAll(LEGITIMATE)) {
    done += text.slice(from, index).replace(SUSPECTS, run) + whole
    from = index + whole.length
  }
  return done + text.slice(from).replace(SUSPECTS, run)
}

function mark(character: string): string {
  return `⟨U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}⟩`
}

function jsonEscape(character: string): string {
  let escaped = ''
  for (let at = 0; at < character.length; at += 1) {
    escaped += `\\u${character.charCodeAt(at).toString(16).padStart(4, '0')}`
  }
  return escaped
}
