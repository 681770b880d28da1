import { expect, test } from 'bun:test'
import { ListPaces } from '../../../../core/connections/worker/lists/list-paces.ts'
import { KnownItems } from '../../../../core/connections/worker/lists/list-parts.ts'
import { ListWatch } from '../../../../core/connections/worker/lists/list-watch.ts'
import type { ListKind } from '../../../../core/domain/mcp-methods.ts'

interface Reading {
  readonly kinds: readonly string[]
  readonly noticed: readonly ListKind[]
  readonly more: boolean
}

/** A watch over lists that are answered when `answer` says so. */
function watching() {
  let gate = Promise.withResolvers<void>()
  const read: Reading[] = []
  const asked: string[] = []
  const watch = new ListWatch({
    reader: {
      ask: async method => {
        asked.push(method)
        await gate.promise
        return { [method === 'resources/templates/list' ? 'resourceTemplates' : (method.split('/')[0] ?? '')]: [] }
      },
      capabilities: { tools: {}, prompts: {}, resources: {} },
      undeclared: new Set(),
      take: async () => undefined,
      known: new KnownItems(),
      paces: new ListPaces(),
      owner: 'ada',
    },
    arm: () => {},
    read: (lists, noticed, more) =>
      read.push({ kinds: ORDER.filter(kind => lists.read.includes(kind)), noticed, more }),
  })
  const answer = async (): Promise<void> => {
    const count = read.length
    gate.resolve()
    while (read.length === count) await Bun.sleep(1)
    gate = Promise.withResolvers()
  }
  let aheadMs = 0
  /** The time between two readings is over. */
  const later = () => {
    aheadMs += 1_000
    watch.sweep(performance.now() + aheadMs)
  }
  return { watch, read, asked, answer, later }
}

const ORDER: readonly ListKind[] = ['tools', 'prompts', 'resources', 'resourceTemplates']

test('a change announced during a reading is reported by the next reading', async () => {
  const { watch, read, answer, later } = watching()
  expect(watch.stale(['tools', 'prompts'], true)).toBe(true)
  expect(watch.stale(['prompts'], true)).toBe(true)
  await answer()
  expect(read).toEqual([{ kinds: ['tools', 'prompts'], noticed: ['tools', 'prompts'], more: true }])
  later()
  await answer()
  expect(read[1]).toEqual({ kinds: ['prompts'], noticed: ['prompts'], more: false })
})

test('a list that is read for another reason is not called changed by the notice of another one', async () => {
  const { watch, read, asked, answer, later } = watching()
  watch.stale(['tools'], false)
  // During this reading, a new reading of all lists is asked for, and one list is reported as changed.
  watch.stale(['tools', 'prompts', 'resources', 'resourceTemplates'], false)
  expect(watch.stale(['tools'], true)).toBe(true)
  expect(watch.stale(['tools'], true)).toBe(false)
  await answer()
  later()
  expect(asked).toHaveLength(5)
  // This comes too late for the reading under way.
  expect(watch.stale(['prompts'], true)).toBe(true)
  await answer()
  expect(read[1]).toEqual({
    kinds: ['tools', 'prompts', 'resources', 'resourceTemplates'],
    noticed: ['tools'],
    more: true,
  })
  later()
  await answer()
  expect(read[2]).toEqual({ kinds: ['prompts'], noticed: ['prompts'], more: false })
})
