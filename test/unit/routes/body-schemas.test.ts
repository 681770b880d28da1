// The API document's fields of bodies that the registry validates agree with the fields that are read.
import { describe, expect, test } from 'bun:test'
import { z } from 'zod'
import { HubError } from '../../../core/contract/errors.ts'
import type { JsonObject } from '../../../core/contract/json.ts'
import { parseGroupBody } from '../../../core/domain/group-body.ts'
import { GROUP_FIELDS } from '../../../core/domain/group-fields.ts'
import { COMMON_FIELDS } from '../../../core/domain/server/server-table.ts'
import { groupBody } from '../../../core/http/routes/groups/group-schemas.ts'
import { serverBody } from '../../../core/http/routes/servers/server-schemas.ts'
import { parseServerBody } from '../domain/parse-server-body.ts'

function fieldsOf(schema: z.ZodType): readonly string[] {
  return Object.keys(z.toJSONSchema(schema, { io: 'input' }).properties ?? {})
}

/** True when `parse` knows the field: it may refuse its value, but not its name. */
function known(parse: (body: JsonObject) => unknown, field: string): boolean {
  try {
    parse({ [field]: null })
  } catch (error) {
    if (!(error instanceof HubError)) throw error
    return !(error.errors ?? []).some(({ code, pointer }) => code === 'unknown_field' && pointer === `#/${field}`)
  }
  return true
}

describe.each([
  ['server', serverBody, COMMON_FIELDS, parseServerBody],
  ['group', groupBody, GROUP_FIELDS, parseGroupBody],
] as const)('the body of a %s', (_name, schema, read: readonly string[], parse: (body: JsonObject) => unknown) => {
  test('every field of the document is read', () => {
    expect(fieldsOf(schema).filter(field => !known(parse, field))).toEqual([])
    expect(known(parse, 'no-such-field')).toBe(false)
  })

  test('every field that is read is in the document', () => {
    expect(read.filter(field => !fieldsOf(schema).includes(field))).toEqual([])
  })
})
