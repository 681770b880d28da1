import { describe, expect, test } from 'bun:test'
import type { JsonObject } from '../../../core/contract/json.ts'
import { cutBytes, pieceEnd } from '../../../core/mcp/cut-text.ts'
import { ResultBudget } from '../../../core/mcp/result-budget.ts'
import { createSealer } from '../../../core/secrets/seal.ts'
import { RawClient } from '../../support/raw-mcp.ts'
import { catalog, groupRecord, member, serverRecord, startHub, tool } from './support.ts'

function budget() {
  const clock = { now: 1_000 }
  const sealer = createSealer([new Uint8Array(32).fill(7)])
  const results = new ResultBudget(sealer, () => clock.now)
  const fit = (result: JsonObject, maxBytes: number, scope = 'alice|/mcp/g') =>
    JSON.parse(results.fit(JSON.stringify(result), maxBytes, scope))
  const read = (handle: unknown, maxBytes: number, scope = 'alice|/mcp/g') =>
    JSON.parse(results.read(handle, maxBytes, scope))
  return { clock, results, fit, read }
}

const handleIn = (text: string) => /read (?:on|it) by ([\w-]+)/.exec(text)?.[1]
const text = (value: string) => ({ type: 'text', text: value })

describe('pieceEnd() and cutBytes()', () => {
  test('cut between characters, never inside one', () => {
    const mixed = 'aü€😀z'
    expect([0, 1, 2, 3, 4, 5, 6, 7, 9, 10, 11, 99].map(bytes => cutBytes(mixed, bytes))).toEqual([
      ...['', 'a', 'a', 'aü', 'aü', 'aü', 'aü€', 'aü€', 'aü€', 'aü€😀', 'aü€😀z', 'aü€😀z'],
    ])
    for (let bytes = 1; bytes < 12; bytes++)
      expect(Buffer.byteLength(cutBytes(mixed, bytes))).toBeLessThanOrEqual(bytes)
    expect(pieceEnd(mixed, 3, 4)).toBe(5)
  })
})

describe('a result budget', () => {
  test('leaves what fits exactly as it is', () => {
    const { results } = budget()
    const fits = '{ "content":[{"type":"text","text":"ok"}], "n": 12345678901234567890 }'
    expect(results.fit(fits, 100, 's')).toBe(fits)
    for (const other of [
      { resultType: 'input_required', inputRequests: {}, content: [] },
      { toolResult: 'x' },
      [1],
      'x',
    ]) {
      const long = JSON.stringify(other)
      expect(results.fit(long, 2, 's')).toBe(long)
    }
  })

  test('cuts a long text at the limit, and the pieces that follow make up the whole', () => {
    for (const [size, limit] of [
      [10_000, 1_000],
      [50, 7],
      [20, 1],
    ] as const) {
      const { fit, read } = budget()
      const long = Array.from({ length: size }, (_, index) => 'aü€😀'.slice(0, 2 + (index % 4))).join('')
      const { content } = fit({ content: [text(long)] }, limit)
      const shown = content.length === 2 ? content[0].text : ''
      expect(Buffer.byteLength(shown)).toBeLessThanOrEqual(limit)
      expect(content.at(-1).text).toContain(`of ${Buffer.byteLength(long)} bytes`)
      let whole = shown
      let handle = handleIn(content.at(-1).text)
      while (handle) {
        const piece = read(handle, limit).content[0].text as string
        const noteAt = piece.lastIndexOf('\n[')
        handle = handleIn(noteAt < 0 ? '' : piece.slice(noteAt))
        whole += handle ? piece.slice(0, noteAt) : piece
      }
      expect(whole).toBe(long)
    }
  })

  test('keeps structured content whole where it fits, and leaves it out where it does not', () => {
    const { fit } = budget()
    const structuredContent = { list: Array.from({ length: 20 }, (_, n) => n) }
    const result = { content: [text(JSON.stringify(structuredContent)), text('x'.repeat(500))], structuredContent }
    const kept = fit(result, 200)
    expect(kept.structuredContent).toEqual(structuredContent)
    const dropped = fit(result, 40)
    expect(dropped).not.toHaveProperty('structuredContent')
    expect(dropped.content.at(-1).text).toContain('structured content of')
  })

  test('leaves a block out that does not fit, which is read as a whole', () => {
    const { fit, read } = budget()
    const image = { type: 'image', data: 'A'.repeat(5_000), mimeType: 'image/png' }
    const small = { type: 'image', data: 'AAAA', mimeType: 'image/png' }
    const cut = fit(
      { content: [text('before'), image, small, text('after')], isError: true, _meta: { kept: 1 } },
      1_000,
    )
    expect(cut).toMatchObject({ isError: true, _meta: { kept: 1 } })
    expect(cut.content.slice(0, 3)).toEqual([text('before'), small, text('after')])
    expect(read(handleIn(cut.content[3].text), 1_000)).toEqual({ content: [image] })
  })

  test('numbers beyond 2⁵³ come through a cut unchanged', () => {
    const { results } = budget()
    const long = `{"content":[{"type":"text","text":"${'x'.repeat(300)}"}],"structuredContent":{"n":9007199254740993}}`
    expect(results.fit(long, 100, 's')).toContain('9007199254740993')
  })

  test('a handle is good for its caller and path, for ten minutes, and for nothing made up', () => {
    const { fit, read, clock } = budget()
    const handle = handleIn(fit({ content: [text('x'.repeat(100))] }, 10).content.at(-1).text)
    expect(read(handle, 1_000).content[0].text).toBe('x'.repeat(90))
    for (const [wrong, scope] of [
      [handle, 'bob|/mcp/g'],
      [handle, 'alice|/mcp/h'],
      [`${handle}x`, undefined],
      ['', undefined],
      [7, undefined],
    ] as const)
      expect(read(wrong, 10, scope)).toMatchObject({ isError: true })
    clock.now += 10 * 60_000
    expect(read(handle, 10)).toMatchObject({ isError: true })
  })

  test('the oldest results of a caller make room for new ones, and nobody else’s do', () => {
    const { fit, read } = budget()
    const keep = (scope: string) =>
      handleIn(fit({ content: [text('x'.repeat(4_000_000))] }, 10, scope).content.at(-1).text)
    const others = keep('bob')
    const handles = Array.from({ length: 5 }, () => keep('alice'))
    expect(handles.map(handle => read(handle, 10, 'alice').isError ?? false)).toEqual([true, true, false, false, false])
    expect(read(others, 10, 'bob').isError).toBeUndefined()
  })
})

test('a group with a limit cuts results, lists the tool that reads on, and promises no output schema', async () => {
  const docs = serverRecord('docs')
  const more = 'y'.repeat(5_000)
  await using hub = startHub((world, upstreams) => {
    world.servers.push(docs)
    world.groups.push(
      groupRecord('small', [member(docs)], { resultLimitBytes: 1_000 }),
      groupRecord('free', [member(docs)]),
    )
    const tools = [{ ...tool('get'), outputSchema: { type: 'object' } }, tool('patchbay_read_result')]
    upstreams.add(docs.id, catalog({ tools }), () => {
      const result = { content: [text(more)], structuredContent: { more } }
      return { kind: 'result', text: JSON.stringify(result), isError: false }
    })
  })
  const free = await new RawClient(hub, '/mcp/free').open()
  expect((await free.call('tools/list')).result.tools[0]).toHaveProperty('outputSchema')
  expect((await free.call('tools/call', { name: 'get' })).result.structuredContent).toEqual({ more })
  const small = await new RawClient(hub, '/mcp/small').open()
  const { tools } = (await small.call('tools/list')).result
  const [, theirs, own] = tools.map((each: JsonObject) => each.name)
  expect([theirs, own]).toEqual([expect.stringMatching(/^patchbay_read_result_[0-9a-f]{6}$/), 'patchbay_read_result'])
  await small.call('tools/call', { name: theirs })
  expect(hub.upstreams.seen.at(-1)?.request.params?.name).toBe('patchbay_read_result')
  expect(tools[0]).not.toHaveProperty('outputSchema')
  const cut = (await small.call('tools/call', { name: 'get' })).result
  expect(cut.content[0]).toEqual(text('y'.repeat(1_000)))
  const before = hub.upstreams.seen.length
  const handle = handleIn(cut.content[1].text)
  const next = (await small.call('tools/call', { name: 'patchbay_read_result', arguments: { handle } })).result
  expect(next.content[0].text).toStartWith('y'.repeat(1_000))
  expect(next.content[0].text).toContain('3000 bytes follow')
  expect(hub.upstreams.seen).toHaveLength(before)
  const again = await new RawClient(hub, '/mcp/small').open()
  const read = (client: RawClient) => client.call('tools/call', { name: 'patchbay_read_result', arguments: { handle } })
  expect((await read(again)).result.isError).toBeUndefined()
  await read(free)
  expect(hub.upstreams.seen).toHaveLength(before + 1)
  hub.world.groups.push(groupRecord('other', [member(docs)], { resultLimitBytes: 1_000 }))
  expect((await read(await new RawClient(hub, '/mcp/other').open())).result.isError).toBe(true)
})

test('the tool that reads on is the hub’s own, also where a server’s tool had its name until a moment ago', async () => {
  const docs = serverRecord('docs')
  await using hub = startHub((world, upstreams) => {
    world.servers.push(docs)
    world.groups.push(groupRecord('g', [member(docs)]))
    upstreams.add(docs.id, catalog({ tools: [tool('patchbay_read_result')] }))
  })
  const client = await new RawClient(hub, '/mcp/g').open()
  await client.call('tools/list')
  const [group] = hub.world.groups
  hub.world.groups[0] = { ...(group as NonNullable<typeof group>), resultLimitBytes: 100 }
  hub.bus.emit('group.updated', docs.ownerId, { groupId: group?.id ?? '', name: 'g', revision: 2 })
  await client.call('tools/list')
  const { result } = await client.call('tools/call', { name: 'patchbay_read_result', arguments: { handle: 'x' } })
  expect(result.isError).toBe(true)
  expect(hub.upstreams.seen).toHaveLength(0)
})
