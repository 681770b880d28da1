import { expect, test } from 'bun:test'
import { Ajv } from 'ajv'
import { schemaFault } from '../../../core/connections/worker/lists/schema-fault.ts'
import type { JsonObject } from '../../../core/contract/json.ts'

const property = (schema: unknown) => ({ type: 'object', properties: { a: schema } })

/** Output schemas as servers send them, and whether clients can compile them. */
const SCHEMAS: readonly (readonly [fault: string | undefined, schema: unknown])[] = [
  [undefined, property({ type: ['string', 'null'], format: 'date-time', pattern: '^\\d+$', 'x-own': null })],
  [undefined, { type: 'object', additionalProperties: { $ref: '#/$defs/node' }, $defs: { node: { type: 'string' } } }],
  [undefined, { type: 'object', properties: { next: { $ref: '#' } } }],
  [undefined, { $defs: { 'a/b': { items: { $ref: '#/$defs/a~1b' } } }, $ref: '#/$defs/a~1b' }],
  [undefined, { type: 'object', properties: { a: { $ref: '#there' }, b: { $anchor: 'there', type: 'string' } } }],
  [undefined, { $schema: 'http://json-schema.org/draft-04/schema#', type: 'object' }],
  [undefined, property(true)],
  [undefined, { type: 'object', properties: { a: { enum: ['x', null], default: 7, examples: 'x' } } }],
  ['"type" at #/properties/a', property({ type: 'strng' })],
  ['"type" at #/properties/a', property({ type: ['string', 'any'] })],
  ['"type" at #/properties/a', property({ type: null })],
  ['"pattern" at #/properties/a', property({ type: 'string', pattern: '(' })],
  ['"patternProperties" at #', { type: 'object', patternProperties: { '[': { type: 'string' } } }],
  ['"$ref" at #/properties/a', property({ $ref: '#/$defs/none' })],
  ['"$ref" at #/properties/a', property({ $ref: 'https://elsewhere.example/schema.json' })],
  ['"required" at #/properties/a', property({ type: 'string', required: true })],
  ['"exclusiveMinimum" at #/properties/a', property({ minimum: 0, exclusiveMinimum: true })],
  ['"enum" at #/properties/a', property({ enum: 'x' })],
  ['"properties" at #', { type: 'object', properties: [] }],
  ['"items" at #/properties/a', property({ type: 'array', items: 'string' })],
  ['"anyOf" at #/properties/a', property({ anyOf: { type: 'string' } })],
  ['#/properties/a is no schema', property(null)],
  ['#/properties/a/anyOf/1 is no schema', property({ anyOf: [{ type: 'string' }, null] })],
  ['"minLength" at #/properties/a', property({ type: 'string', minLength: '1' })],
  [
    '"type" at #/properties/a/$ref',
    { type: 'object', properties: { a: { $ref: '#/$defs/x' } }, $defs: { x: { type: 'Text' } } },
  ],
]

test.each(SCHEMAS)('the fault of a schema is found where a client cannot compile it: %p %j', (fault, schema) => {
  const found = schemaFault(schema as JsonObject)
  if (fault === undefined) expect(found).toBeUndefined()
  else expect(found).toStartWith(fault)
  // As the official client compiles output schemas.
  const ajv = new Ajv({ strict: false, validateFormats: false, validateSchema: false, allErrors: true, logger: false })
  const compile = () => ajv.compile(schema as object)
  if (fault === undefined) expect(compile).not.toThrow()
  else expect(compile).toThrow()
})

test('a schema with many references takes one look at each part', () => {
  const count = 5_000
  const parts = Array.from({ length: count }, (_, at) => [`p${at}`, { $ref: `#/$defs/p${(at + 1) % count}` }])
  const started = performance.now()
  expect(schemaFault({ type: 'object', $defs: Object.fromEntries(parts), $ref: '#/$defs/p0' })).toBeUndefined()
  expect(performance.now() - started).toBeLessThan(1_000)
})
