import { generateKeyPairSync, randomBytes } from 'node:crypto'
import { crc32 } from 'node:zlib'

const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'

/** Random characters of an alphabet. */
export function random(count: number, alphabet = BASE62): string {
  return Array.from(randomBytes(count), byte => alphabet[byte % alphabet.length]).join('')
}

/** 30 random characters and their CRC-32 in base 62, as GitHub and npm make tokens. */
export function checked(): string {
  const body = random(30)
  let rest = crc32(body)
  let digits = ''
  for (let at = 0; at < 6; at += 1) {
    digits = BASE62[rest % 62] + digits
    rest = Math.floor(rest / 62)
  }
  return body + digits
}

/** A token as RFC 7519 has it. */
export function jwt(): string {
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
  return `${part({ alg: 'HS256', typ: 'JWT' })}.${part({ sub: random(8), exp: 1_900_000_000 })}.${randomBytes(32).toString('base64url')}`
}

function pem(): string {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  return String(privateKey.export({ type: 'pkcs8', format: 'pem' })).trim()
}

const word = `${BASE62}-_`

/** Ten forms of secrets, with the kind by which each is found. */
export const FORMS: readonly (readonly [kind: string, make: () => string])[] = [
  ['github_token', () => `ghp_${checked()}`],
  ['npm_token', () => `npm_${checked()}`],
  ['aws_key', () => `AKIA${random(16, 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567')}`],
  ['slack_token', () => `xoxb-${random(12, '0123456789')}-${random(12, '0123456789')}-${random(24)}`],
  ['stripe_key', () => `sk_live_${random(24)}`],
  ['openai_key', () => `sk-proj-${random(74, word)}T3BlbkFJ${random(74, word)}`],
  ['anthropic_key', () => `sk-ant-api03-${random(93, word)}AA`],
  ['google_key', () => `AIza${random(34, word)}A`],
  ['gitlab_token', () => `glpat-${random(20)}`],
  ['private_key', pem],
]
