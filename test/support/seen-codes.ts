/**
 * Records the codes in the answers of real hubs during a run. SEEN_CODES names the file that the tests append them to; without
 * it nothing is recorded. `bun test/support/seen-codes.ts FILE`, at the end of a whole run, fails for a code that no answer
 * contained.
 */
import { appendFileSync, readFileSync } from 'node:fs'
import { ERROR_CODES, FIELD_CODES } from '../../core/contract/codes.ts'
import { BELOW_THE_HUB, OUT_OF_REACH, TO_COME } from './codes-to-come.ts'

const noted = new Set<string>()

/** Notes the codes in the text of an answer, an event or a close reason. */
export function noteCodes(text: string): void {
  const file = process.env.SEEN_CODES
  if (file === undefined) return
  for (const [, code = ''] of text.matchAll(/"code\\?":\s*\\?"([a-z_]+)\\?"/g)) {
    if (noted.has(code)) continue
    noted.add(code)
    appendFileSync(file, `${code}\n`)
  }
}

/** `fetch` that notes what JSON answers hold; streams pass untouched. */
export async function notingFetch(input: string | URL | Request, init?: RequestInit): Promise<Response> {
  const response = await fetch(input, init)
  const isJson = /json/.test(response.headers.get('content-type') ?? '') && !response.headers.has('content-encoding')
  if (process.env.SEEN_CODES === undefined || !isJson) return response
  const text = await response.text()
  noteCodes(text)
  return new Response(text, response)
}

if (import.meta.main) {
  // Not for all tests, which import this file: it brings all bundled plugins.
  const { bundledPlugins } = await import('../../core/hub/bundled.ts')
  const ofPlugins = bundledPlugins.flatMap(({ errors = {} }) => Object.keys(errors))
  const KNOWN = new Set([...Object.keys(ERROR_CODES), ...Object.keys(FIELD_CODES), ...ofPlugins])
  const seen = new Set(readFileSync(process.argv[2] ?? '', 'utf8').split('\n'))
  const excused = { ...TO_COME, ...OUT_OF_REACH, ...BELOW_THE_HUB }
  const missing = [...KNOWN].filter(code => !seen.has(code) && !(code in excused))
  const early = Object.keys(TO_COME).filter(code => seen.has(code))
  if (missing.length > 0) console.error(`No answer held these codes: ${missing.join(', ')}`)
  if (early.length > 0) console.error(`Answered, though they are said to be still to come: ${early.join(', ')}`)
  console.log(
    `${KNOWN.size - Object.keys(TO_COME).length - missing.length} codes were answered, ${missing.length} were not`,
  )
  process.exit(missing.length + early.length > 0 ? 1 : 0)
}
