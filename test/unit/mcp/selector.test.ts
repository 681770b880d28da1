import { describe, expect, test } from 'bun:test'
import { HubError } from '../../../core/contract/errors.ts'
import type { JsonObject } from '../../../core/contract/json.ts'
import { catalogItem } from '../../../core/domain/tools/catalog-item.ts'
import { mergeCatalogs } from '../../../core/mcp/scope/merge.ts'
import type { Scope } from '../../../core/mcp/scope/scope.ts'
import type { MemberState, ResolvedScope, Target } from '../../../core/mcp/scope/scope-types.ts'
import { completedBy, completedValue, selection, withOthers } from '../../../core/mcp/selection/selection.ts'
import { groupRecord, serverRecord } from './support.ts'

const object = (properties: JsonObject): JsonObject => ({ type: 'object', properties })

function state(value: string, tool: JsonObject, more: Partial<MemberState> = {}): MemberState {
  const server = serverRecord(value)
  const member = {
    ...{ server, alias: value, selectedBy: value, passedHeaders: [] },
    ...({ tools: 'all', prompts: 'all', resources: 'all' } as const),
  }
  const tools = [catalogItem('tools', { name: 'find', inputSchema: object({ q: {} }), ...tool })]
  const lists = { tools, prompts: [], resources: [], resourceTemplates: [] }
  const catalog = { ...lists, capabilities: { tools: {} }, warnings: [] } as unknown as NonNullable<
    MemberState['catalog']
  >
  return { member, catalog, listed: true, ...more }
}

function merged(states: readonly MemberState[], preset?: string) {
  const group = groupRecord('g', [], { selector: { argument: 'at', ...(preset ? { default: preset } : {}) } })
  const scope: ResolvedScope = {
    ...{ kind: 'group', group, members: states.map(({ member }) => member), passthroughHeaders: [] },
  }
  const { lists, tools, faults } = mergeCatalogs(scope, states)
  const listed = lists.tools.map(({ text }) => JSON.parse(text))
  const target = tools.get('find')
  return { listed, target, targets: [...(target?.choice?.targets.keys() ?? [])], faults: faults() }
}

describe('a tool of several members', () => {
  test('has the hints and the output schema that all have, and the description of the first', () => {
    const output = object({ a: { type: 'string' } })
    const hints = { readOnlyHint: true, openWorldHint: false }
    const { listed } = merged([
      state('a', { description: 'of a', annotations: hints, outputSchema: output }),
      state('b', {
        description: 'of b',
        annotations: { readOnlyHint: false, openWorldHint: false },
        outputSchema: output,
      }),
      state('c', { description: 'of c', annotations: hints, outputSchema: output }),
    ])
    expect(listed).toMatchObject([{ description: 'of a', annotations: { openWorldHint: false }, outputSchema: output }])
    expect(listed[0].annotations).toEqual({ openWorldHint: false })
    const unlike = merged([state('a', { outputSchema: output }), state('b', { outputSchema: object({ b: {} }) })])
    expect(unlike.listed[0]).not.toHaveProperty('outputSchema')
  })

  test('has the form that most listed members have; of equally many, that of the first', () => {
    const other = { inputSchema: object({ q: { type: 'integer' } }) }
    const most = merged([state('a', other), state('b', {}), state('c', {})])
    expect(most.listed[0].inputSchema.properties.at.enum).toEqual(['b', 'c'])
    expect(most.faults).toMatchObject([{ fault: 'differs', values: ['a'], as: 'b' }])
    expect(merged([state('a', other), state('b', {})]).targets).toEqual(['a'])
    const hidden = merged([state('a', other, { listed: false }), state('b', {})])
    expect(hidden.targets).toEqual(['b'])
  })

  test('can be called at members that are not listed, of which none is a value or the shown default', () => {
    const { listed, targets } = merged([state('a', {}, { listed: false }), state('b', {})], 'a')
    expect(targets).toEqual(['a', 'b'])
    expect(listed[0].inputSchema).toMatchObject({ required: ['at'], properties: { at: { enum: ['b'] } } })
    expect(merged([state('a', {}, { listed: false })]).listed).toEqual([])
  })

  test('shows no definition that waits for approval', () => {
    const blocked = new Set(['find'])
    const { listed } = merged([
      state('a', { description: 'changed' }, { blocked }),
      state('b', { description: 'kept' }),
    ])
    expect(listed).toMatchObject([{ description: 'kept', inputSchema: { properties: { at: { enum: ['b'] } } } }])
    expect(merged([state('a', {}, { blocked })]).listed).toEqual([])
  })
})

describe('the argument that chooses', () => {
  const { target = {} as Target } = merged([state('Berlin', {}), state('bonn', {}, { blocked: new Set(['find']) })])
  /** The parts of a scope of which these servers can be reached. */
  const scopeOf = (...reachable: readonly string[]) =>
    ({ catalog: { states: [] }, isReachable: (id: string) => reachable.includes(id) }) as unknown as Scope
  const idOf = (value: string) => target.choice?.targets.get(value)?.member.server.id ?? ''

  test('is completed in any letter case, and taken out of what completes the others', () => {
    const completed = completedValue(target, { name: 'at', value: 'B' })
    expect(JSON.parse(completed?.resultText ?? '').completion.values).toEqual(['Berlin', 'bonn'])
    expect(completedValue(target, { name: 'q', value: 'b' })).toBeUndefined()
    const chosen = completedBy(target, { arguments: { at: 'bonn', q: 'x' } })
    expect([chosen.target.member.server.id, chosen.context]).toEqual([idOf('bonn'), { arguments: { q: 'x' } }])
    expect(completedBy(target, { arguments: { q: 'x' } }).target).toBe(target)
  })

  test('is an own member of the arguments, and a refusal names only values that can be called', () => {
    const scope = scopeOf(idOf('Berlin'), idOf('bonn'))
    const refusalOf = (given: JsonObject): unknown => {
      try {
        return selection(scope, 'find', target, { arguments: given }).target.chosen?.value
      } catch (error) {
        const { code, data } = error as { code: string; data: JsonObject }
        return [code, data.values]
      }
    }
    expect(refusalOf({ at: 'Berlin' })).toBe('Berlin')
    expect(refusalOf(Object.create({ at: 'Berlin' }))).toEqual(['selector_missing', ['Berlin']])
    expect(refusalOf({ at: 'paris' })).toEqual(['selector_unknown', ['Berlin']])
  })

  test('is named in a failure with the values that can be called, where its server cannot be reached', () => {
    const params = { arguments: { at: 'bonn' } }
    const failure = { kind: 'failed', error: new HubError('server_offline', 'It is offline') }
    const messageOf = (...reachable: readonly string[]) => {
      const scope = scopeOf(...reachable.map(idOf))
      return withOthers(scope, selection(scope, 'find', target, params), failure).error.message
    }
    expect(messageOf('Berlin', 'bonn')).toBe('It is offline')
    expect(messageOf('Berlin')).toContain('Berlin')
    expect(messageOf()).toContain('none of the others is online')
  })
})
