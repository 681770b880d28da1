import type { FieldError } from '../../contract/errors.ts'
import type { JsonObject } from '../../contract/json.ts'
import { mapStrings, pointerPath } from '../../domain/json/json-pointer.ts'
import { looksMasked, maskSecret } from '../../domain/server/secrets.ts'

/** The secrets of a body by their JSON Pointers into it. */
export type Secrets = Readonly<Record<string, string>>

/** The texts at the places of secrets. `patterns`: JSON Pointers in which `*` stands for any member. */
export function secretsIn(body: JsonObject, patterns: readonly string[]): Secrets {
  const found: Record<string, string> = {}
  mapStrings(body, (text, pointer) => {
    if (text !== '' && isSecret(patterns, pointer)) found[pointer] = text
    return text
  })
  return found
}

/** The body with an empty text in the place of each of these secrets. */
export function withoutSecrets(body: JsonObject, secrets: Secrets): JsonObject {
  return mapStrings(body, (text, pointer) => (Object.hasOwn(secrets, pointer) ? '' : text))
}

/** The body with these texts in their places. */
export function withSecrets(body: JsonObject, secrets: Secrets): JsonObject {
  return mapStrings(body, (text, pointer) => secrets[pointer] ?? text)
}

/** Masks of these secrets, by the same pointers. */
export function masksOf(secrets: Secrets): Secrets {
  return Object.fromEntries(Object.entries(secrets).map(([at, text]) => [at, maskSecret(text)]))
}

/** Pointers of the masks in a body in whose place a secret is stored. `at`: pointer of the body itself. */
export function keptMasks(body: JsonObject, stored: Secrets, at = '#'): readonly string[] {
  const kept: string[] = []
  mapStrings(body, (text, pointer) => {
    if (looksMasked(text) && Object.hasOwn(stored, pointer)) kept.push(`${at}${pointer}`)
    return text
  })
  return kept
}

/** Replaces masks by the stored secrets of the same place. Adds an error for each mask of another text. */
export function unmasked(
  body: JsonObject,
  {
    patterns,
    stored,
    at = '#',
  }: { readonly patterns: readonly string[]; readonly stored: Secrets; readonly at?: string },
  errors: FieldError[],
): JsonObject {
  return mapStrings(body, (text, pointer) => {
    if (!looksMasked(text) || !isSecret(patterns, pointer)) return text
    const secret = stored[pointer]
    if (secret !== undefined && text === maskSecret(secret)) return secret
    errors.push({
      pointer: `${at}${pointer}`,
      code: 'secret_mask',
      detail: 'This is a mask, and no such secret is stored here; enter the secret itself',
    })
    return text
  })
}

function isSecret(patterns: readonly string[], pointer: string): boolean {
  return patterns.some(pattern => fits(pattern, pointer))
}

function fits(pattern: string, pointer: string): boolean {
  const [wanted, given] = [pointerPath(pattern), pointerPath(pointer)]
  if (!wanted || !given || wanted.length !== given.length) return false
  return wanted.every((token, at) => token === '*' || token === given[at])
}
