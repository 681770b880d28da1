import type { JsonObject } from '../../contract/json.ts'

/** Limit for all tools of a group: above it, a model spends much of its context, and accuracy, on the list. */
export const MANY_TOKENS = 20_000
/** Limit for one tool. */
export const MANY_TOKENS_OF_A_TOOL = 2_000

/** Chinese, Japanese and Korean characters, with their punctuation: each is about a token of its own. */
const WIDE =
  /[\u1100-\u11ff\u2e80-\ua4cf\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\ufe30-\ufe4f\uff00-\uffef]|[\ud840-\ud88d][\udc00-\udfff]/g
const MAYBE_WIDE = /[\u1100-\uffff]/

/** Quarters of a token that a text takes: one a character, four a Chinese, Japanese or Korean one. */
export function quarterTokens(text: string): number {
  if (!MAYBE_WIDE.test(text)) return text.length
  let quarters = text.length
  for (const [wide] of text.matchAll(WIDE)) quarters += 4 - wide.length
  return quarters
}

/** Quarters of a token in the parts of a definition that a model reads: clients pass on only name, description and inputSchema. */
export function quarterTokensOfTool({ name, description, inputSchema }: JsonObject): number {
  return quarterTokens(JSON.stringify({ name, description, inputSchema }))
}

/** Converts quarters to an approximate number of tokens. Models differ; this is near the count of common ones for JSON. */
export function aboutTokens(quarters: number): number {
  return Math.ceil(quarters / 4)
}
