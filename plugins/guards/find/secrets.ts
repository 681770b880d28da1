import { entropyOf, hasCrc } from './checksums.ts'
import { findPrivateKeys } from './private-keys.ts'
import { type Finder, type Found, placesOf } from './types.ts'

/**
 * One well-known form of a key. `marks`: texts of which one is in every such key, in lower case; the pattern is tried only where one is.
 * `accept` decides about what the pattern finds.
 */
interface Form {
  readonly marks: readonly string[]
  readonly pattern: RegExp
  readonly accept?: (match: RegExpExecArray) => boolean
}

/** Bits of entropy per character below which a text is an example such as `ghp_xxxx…`. */
const RANDOM_BITS = 3

const isRandom = ([whole]: RegExpExecArray): boolean => entropyOf(whole.slice(-32)) >= RANDOM_BITS
/** A checksum that is right says that even a repetitive text is a key. */
const isToken = (match: RegExpExecArray): boolean =>
  hasCrc(match[0].slice(match[0].indexOf('_') + 1)) || isRandom(match)

/**
 * The forms by kind. The facts are those that the issuers publish: GitHub (token formats, 2021), npm (2021), AWS (IAM identifiers,
 * `AKIA` and `ASIA` with base 32), Slack (token types), Stripe (API keys), GitLab (token prefixes), Google (API keys, OAuth clients),
 * OpenAI and Anthropic (key prefixes as their consoles show them), PyPI, Hugging Face, DigitalOcean, SendGrid, Shopify, Telegram
 * (each in its documentation of tokens), RFC 7519 for JWT and RFC 7468 for PEM.
 */
const FORMS = {
  github_token: [
    { marks: ['ghp_', 'gho_', 'ghu_', 'ghs_', 'ghr_'], pattern: /gh[pousr]_[A-Za-z0-9]{36}/g, accept: isToken },
    { marks: ['github_pat_'], pattern: /github_pat_[A-Za-z0-9]{22}_[A-Za-z0-9]{59}/g, accept: isRandom },
  ],
  npm_token: [{ marks: ['npm_'], pattern: /(?<![A-Za-z0-9])npm_[A-Za-z0-9]{36}/g, accept: isToken }],
  gitlab_token: [
    {
      marks: ['glpat-', 'gldt-', 'glrt-', 'glcbt-', 'glptt-', 'glft-', 'glimt-', 'glagent-', 'gloas-', 'glsoat-'],
      pattern: /gl(?:pat|dt|rt|cbt|ptt|ft|imt|agent|oas|soat)-[\w.-]{20,300}/g,
      accept: isRandom,
    },
  ],
  aws_key: [
    {
      marks: ['akia', 'asia'],
      pattern: /(?<![A-Z0-9])(?:AKIA|ASIA)[A-Z2-7]{16}(?![A-Z0-9])/g,
      accept: isRandom,
    },
    {
      marks: ['secret'],
      pattern:
        /(?:aws|amazon)?.{0,8}secret.{0,4}(?:access)?.{0,4}key["']?[ \t]{0,4}[:=>]{1,2}[ \t]{0,4}["']?(?<secret>[A-Za-z0-9/+]{40})(?![A-Za-z0-9/+=])/gi,
      accept: isRandom,
    },
  ],
  slack_token: [
    { marks: ['xox', 'xapp-', 'xoxe'], pattern: /(?:xox[abeoprs]|xapp)[-.][A-Za-z0-9-]{20,300}/g, accept: isRandom },
    {
      marks: ['hooks.slack.com'],
      pattern: /hooks\.slack\.com\/(?:services|workflows|triggers)\/(?<secret>[A-Za-z0-9/]{20,200})/g,
    },
  ],
  stripe_key: [
    {
      marks: ['sk_live_', 'sk_test_', 'rk_live_', 'rk_test_'],
      pattern: /[sr]k_(?:live|test)_[A-Za-z0-9]{16,300}/g,
      accept: isRandom,
    },
    { marks: ['whsec_'], pattern: /whsec_[A-Za-z0-9+/]{24,120}/g, accept: isRandom },
  ],
  openai_key: [
    { marks: ['t3blbkfj'], pattern: /(?<![A-Za-z0-9])sk-[\w-]{16,180}T3BlbkFJ[\w-]{16,180}/g },
    {
      marks: ['sk-proj-', 'sk-svcacct-', 'sk-admin-'],
      pattern: /(?<![A-Za-z0-9])sk-(?:proj|svcacct|admin)-[\w-]{40,300}/g,
      accept: isRandom,
    },
  ],
  anthropic_key: [{ marks: ['sk-ant-'], pattern: /(?<![A-Za-z0-9])sk-ant-[\w-]{32,300}/g, accept: isRandom }],
  google_key: [
    { marks: ['aiza'], pattern: /(?<![A-Za-z0-9_-])AIza[\w-]{35}(?![\w-])/g, accept: isRandom },
    { marks: ['gocspx-'], pattern: /GOCSPX-[\w-]{28}/g, accept: isRandom },
    { marks: ['ya29.'], pattern: /(?<![A-Za-z0-9])ya29\.[\w-]{30,2000}/g, accept: isRandom },
  ],
  jwt: [
    {
      marks: ['eyj'],
      // It begins where a word does, so that a long word is read once.
      pattern: /(?<![A-Za-z0-9_-])eyJ[\w-]{8,4000}\.[\w-]{4,16000}\.[\w-]{8,2000}(?![\w-])/g,
      accept: ([whole]) => hasAlgorithm(whole),
    },
  ],
  huggingface_token: [{ marks: ['hf_'], pattern: /(?<![A-Za-z0-9])hf_[A-Za-z]{34}(?![A-Za-z0-9])/g, accept: isRandom }],
  digitalocean_token: [{ marks: ['do'], pattern: /do[por]_v1_[0-9a-f]{64}/g }],
  sendgrid_key: [{ marks: ['sg.'], pattern: /(?<![A-Za-z0-9])SG\.[\w-]{22}\.[\w-]{43}/g, accept: isRandom }],
  shopify_token: [{ marks: ['shp'], pattern: /shp(?:at|ca|pa|ss)_[0-9a-fA-F]{32}/g }],
  pypi_token: [{ marks: ['pypi-ageichlwas5vcmc'], pattern: /pypi-AgEIcHlwaS5vcmc[\w-]{50,1000}/g }],
  telegram_token: [{ marks: [':aa'], pattern: /(?<![A-Za-z0-9])[0-9]{8,10}:AA[\w-]{33}(?![\w-])/g, accept: isRandom }],
  patchbay_key: [{ marks: ['pb_'], pattern: /(?<![A-Za-z0-9])pb_[\w-]{43}(?![\w-])/g, accept: isRandom }],
  url_password: [
    {
      marks: ['://'],
      pattern:
        /(?<![A-Za-z0-9+.-])[a-z][a-z0-9+.-]{1,20}:\/\/[^\s/:@"'<>]{0,100}:(?<secret>[^\s/@"'<>${}[\]*]{3,200})@[A-Za-z0-9.-]/gi,
      accept: ({ groups }) => !EXAMPLES.test(groups?.secret ?? ''),
    },
  ],
} as const satisfies Readonly<Record<string, readonly Form[]>>

/** Passwords of documentation. */
const EXAMPLES = /^(?:x+|\*+|pass(?:word|wd)?|pwd|secret|token|your[\w-]*|example|changeme|user|test)$/i

/** The kinds of secrets, `private_key` among them. */
export const SECRET_KINDS: readonly string[] = [...Object.keys(FORMS), 'private_key']

/** Finds keys and tokens of these kinds; undefined: of all. */
export function secretFinder(kinds: readonly string[] | undefined): Finder {
  const isWanted = (kind: string): boolean => kinds?.includes(kind) !== false
  const chosen = Object.entries(FORMS as Readonly<Record<string, readonly Form[]>>)
    .filter(([kind]) => isWanted(kind))
    .flatMap(([kind, forms]) => forms.map(form => ({ kind, ...form })))
  return (text, name) => {
    if (text.length < SHORTEST) return []
    const lower = text.toLowerCase()
    const found: Found[] = chosen
      .filter(({ marks }) => marks.some(mark => lower.includes(mark)))
      .flatMap(({ kind, pattern, accept }) => placesOf(text, kind, pattern, accept))
    if (isWanted('private_key')) found.push(...findPrivateKeys(text))
    if (isWanted('aws_key') && isAwsSecret(text, name)) found.push({ kind: 'aws_key', start: 0, end: text.length })
    return found
  }
}

/** Kinds that are found in a text whose line breaks were taken out: all but those that are known by the words around them. */
export function kindsAcrossLines(kinds: readonly string[] | undefined): readonly string[] {
  return (kinds ?? SECRET_KINDS).filter(kind => kind !== 'url_password' && kind !== 'private_key')
}

/** Kinds that are found in a text that was made of several ones: an address and what follows it would often look like one with a password. */
export function joinedKinds(kinds: readonly string[] | undefined): readonly string[] {
  return (kinds ?? SECRET_KINDS).filter(kind => kind !== 'url_password')
}

/** The shortest text that can hold a secret: a password in a URL. */
const SHORTEST = 12

/** The secret of an AWS key has no mark of its own: 40 characters of base 64, below a name that says so. */
function isAwsSecret(text: string, name: string | undefined): boolean {
  if (name === undefined || !/^[A-Za-z0-9/+]{40}$/.test(text)) return false
  const words = name.toLowerCase().replace(/[^a-z]/g, '')
  return words.endsWith('secretaccesskey') || words.endsWith('awssecretkey') || words.endsWith('awssecret')
}

/** True when the first part of a text is the header of a JWT (RFC 7519). */
function hasAlgorithm(token: string): boolean {
  const header = Buffer.from(token.slice(0, token.indexOf('.')), 'base64url').toString()
  return header.startsWith('{') && header.includes('"alg"')
}
