import { expect, test } from 'bun:test'
import type { JsonObject } from '../../../core/contract/json.ts'
import { askableCapabilities, askRefusal } from '../../../core/domain/client-capabilities.ts'

const both: JsonObject = { form: {}, url: {} }
const all: JsonObject = { sampling: { tools: {} }, elicitation: both, roots: { listChanged: true }, tasks: {} }
const roots = { listChanged: true }

test.each([
  ['2024-11-05', all, { sampling: {}, roots }],
  ['2025-03-26', all, { sampling: {}, roots }],
  ['2025-06-18', all, { sampling: {}, elicitation: {}, roots }],
  ['2025-11-25', all, { sampling: { tools: {} }, elicitation: both, roots }],
  ['2025-06-18', { elicitation: { url: {} } }, {}],
  ['2025-11-25', { elicitation: { url: {} } }, { elicitation: { url: {} } }],
  ['2025-06-18', { elicitation: {} }, { elicitation: {} }],
  ['2025-03-26', { elicitation: {} }, {}],
  ['2025-11-25', { experimental: {}, extensions: {} }, {}],
] as const)('a server of %s hears of %j as %j', (version, declared, told) => {
  expect(askableCapabilities(declared, version)).toEqual(told as JsonObject)
})

test.each([
  ['sampling/createMessage', {}, { sampling: {} }, undefined],
  ['sampling/createMessage', {}, { roots: {} }, -32601],
  ['roots/list', undefined, { roots: {} }, undefined],
  ['tasks/list', undefined, all, -32601],
  ['elicitation/create', { message: 'a' }, { elicitation: {} }, undefined],
  ['elicitation/create', { mode: 'form' }, { elicitation: { url: {} } }, -32602],
  ['elicitation/create', { mode: 'url' }, { elicitation: {} }, -32602],
  ['elicitation/create', { mode: 'url' }, { elicitation: both }, undefined],
  ['elicitation/create', { mode: 'url' }, {}, -32601],
] as const)('%s with %j of a client with %j: %p', (method, params, capabilities, code) => {
  expect(askRefusal(method, params as JsonObject | undefined, capabilities)?.code).toBe(code as never)
})
