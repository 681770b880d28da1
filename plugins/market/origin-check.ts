import type { JsonObject } from 'patchbay/contract'
import { z } from 'zod'
import { input, line, variant } from './template-check.ts'

const installed = {
  version: line(64),
  variant,
  inputs: z.array(input).max(40),
  variables: z.record(z.string().max(128), z.string().regex(/^[A-Za-z_][A-Za-z0-9_.-]{0,127}$/)),
  installedAt: z.iso.datetime().max(64),
}
const schema = z.strictObject({ id: line(300), ...installed, previous: z.strictObject(installed).optional() })

const ORIGIN_CHARACTERS = 128 * 1024

/** Validates the origin of a server from another hub; undefined if it is invalid. */
export function checkOrigin(given: unknown): JsonObject | undefined {
  const { data } = schema.safeParse(given)
  if (!data || JSON.stringify(data).length > ORIGIN_CHARACTERS) return undefined
  return data as JsonObject
}
