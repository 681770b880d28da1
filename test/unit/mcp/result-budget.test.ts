import { heapStats } from 'bun:jsc'
import { describe, expect, test } from 'bun:test'
import type { JsonObject } from '../../../core/contract/json.ts'
import type { ResultSource } from '../../../core/features/tools.ts'
import { cutBytes, pieceEnd } from '../../../core/transport-kit/cut-text.ts'
import { ResultBudget } from '../../../plugins/result-limits/result-budget.ts'
import { KEPT_LIMITS } from '../../../plugins/result-limits/result-store.ts'
import { RawClient } from '../../support/raw-mcp.ts'
import { RawModern } from './modern-support.ts'
import { catalog, groupRecord, member, serverRecord, startHub, tool } from './support.ts'

const reader = (key: string) => ({ key, actor: { userId: key.split('|')[0] ?? '' }, permits: () => true })

function budget() {
  const clock = { now: 1_000 }
  const results = new ResultBudget(KEPT_LIMITS, () => clock.now)
  const truncate = (
    result: JsonObject,
    maxBytes: number,
    scope = 'alice|/mcp/g',
    method: ResultSource['method'] = 'tools/call',
  ) => {
    const shown = results.truncate(result, { method, serverId: 's' }, maxBytes, reader(scope)) ?? result
    return JSON.parse(JSON.stringify(shown))
  }
  const read = (handle: unknown, maxBytes: number, scope = 'alice|/mcp/g') =>
    JSON.parse(results.read(handle, maxBytes, reader(scope)))
  return { clock, results, truncate, read }
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

  test('keep together what a reader sees as one character, where it fits at all', () => {
    const flag = '\u{1f1e9}\u{1f1ea}'
    const family = '\u{1f468}\u200d\u{1f469}\u200d\u{1f467}'
    const accent = 'e\u0301'
    expect(cutBytes(`a${flag}b`, 5)).toBe('a')
    expect(cutBytes(`a${flag}b`, 9)).toBe(`a${flag}`)
    expect(cutBytes(`${flag}${flag}x`, 12)).toBe(flag)
    expect(cutBytes(`ab${family}`, 12)).toBe('ab')
    expect(cutBytes(`x${accent}y`, 2)).toBe('x')
    expect(cutBytes('ab\r\nc', 3)).toBe('ab')
    expect(cutBytes(family, 8)).toBe('\u{1f468}\u200d')
    expect(cutBytes(`a${'\u0301'.repeat(500)}`, 301)).toHaveLength(151)
    expect(cutBytes('\ud800\ud800\ud800', 4)).toBe('\ud800')
  })
})

test('a result that a middleware enlarged is cut once, after it', async () => {
  const lines = serverRecord('lines')
  await using hub = startHub((world, upstreams) => {
    world.servers.push(lines)
    world.groups.push(groupRecord('cut', [member(lines)], { resultLimitBytes: 1_000 }))
    const answer = JSON.stringify({ content: [text('b'.repeat(2_000))] })
    upstreams.add(lines.id, catalog({ tools: [tool('read')] }), () => ({
      kind: 'result',
      text: answer,
      isError: false,
    }))
  })
  hub.middlewares.push({
    method: 'tools/call',
    timeoutMs: 1_000,
    onError: 'closed',
    async handle(message, next) {
      const result = await next(message)
      if (message.params?.name !== 'read') return result
      const { content } = result as { content: { type: string; text: string }[] }
      return { content: content.map(each => ({ ...each, text: `${'a'.repeat(900)}${each.text}` })) }
    },
  })
  const client = await new RawClient(hub, '/mcp/cut').open()
  let { result } = await client.call('tools/call', { name: 'read' })
  let whole = ''
  for (;;) {
    const [shown, note] = result.content
      .map((block: { text: string }) => block.text)
      .join('\n')
      .split('\n')
    expect(shown.length).toBeLessThanOrEqual(1_000)
    whole += shown
    const handle = handleIn(note ?? '')
    if (handle === undefined) break
    result = (await client.call('tools/call', { name: 'patchbay_read_result', arguments: { handle } })).result
  }
  expect(whole).toBe('a'.repeat(900) + 'b'.repeat(2_000))
})

describe('a result budget', () => {
  test('counts what is kept for each user', () => {
    const { clock, results, truncate } = budget()
    truncate({ content: [text('x'.repeat(4_000))] }, 1_000)
    expect(results.bytesOf('alice')).toBeGreaterThan(3_000)
    expect(results.bytesOf('bob')).toBe(0)
    clock.now += 11 * 60_000
    results.sweep()
    expect(results.bytesOf('alice')).toBe(0)
  })

  test('cuts a long text at the limit, and the pieces that follow make up the whole', () => {
    for (const [size, limit] of [
      [10_000, 1_000],
      [50, 7],
      [20, 1],
    ] as const) {
      const { truncate, read } = budget()
      const long = Array.from({ length: size }, (_, index) => 'aü€😀'.slice(0, 2 + (index % 4))).join('')
      const { content } = truncate({ content: [text(long)] }, limit)
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
    const { truncate } = budget()
    const structuredContent = { list: Array.from({ length: 20 }, (_, n) => n) }
    const result = { content: [text(JSON.stringify(structuredContent)), text('x'.repeat(500))], structuredContent }
    const kept = truncate(result, 200)
    expect(kept.structuredContent).toEqual(structuredContent)
    const dropped = truncate(result, 40)
    expect(dropped).not.toHaveProperty('structuredContent')
    expect(dropped.content.at(-1).text).toContain('structured content of')
  })

  test('leaves a block out that does not fit, which is read as a whole', () => {
    const { truncate, read } = budget()
    const image = { type: 'image', data: 'A'.repeat(5_000), mimeType: 'image/png' }
    const small = { type: 'image', data: 'AAAA', mimeType: 'image/png' }
    const cut = truncate(
      { content: [text('before'), image, small, text('after')], isError: true, _meta: { kept: 1 } },
      1_000,
    )
    expect(cut).toMatchObject({ isError: true, _meta: { kept: 1 } })
    expect(cut.content.slice(0, 3)).toEqual([text('before'), small, text('after')])
    expect(read(handleIn(cut.content[3].text), 1_000)).toEqual({ content: [image] })
  })

  test('keeps a block of a million empty lists as its text, which counts, and not as a hundred bytes for each', () => {
    const { results, truncate, read } = budget()
    const data = `[${'[],'.repeat(1_000_000)}[]]`
    const whole = `{"content":[{"type":"other","data":${data}}]}`
    Bun.gc(true)
    const before = heapStats().objectCount
    const cut = truncate(JSON.parse(whole), 1_000)
    Bun.gc(true)
    expect(heapStats().objectCount - before).toBeLessThan(100_000)
    expect(results.bytesOf('alice')).toBeGreaterThan(2 * data.length)
    expect(read(handleIn(cut.content[0].text), 1_000).content[0].data).toHaveLength(1_000_001)
  })

  test('a handle is good for its caller and path, for ten minutes, and for nothing made up', () => {
    const { truncate, read, clock } = budget()
    const handle = handleIn(truncate({ content: [text('x'.repeat(100))] }, 10).content.at(-1).text)
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

  test('the text of a prompt is cut like a tool’s text, and each message keeps its role', () => {
    const { truncate, read } = budget()
    const image = { type: 'image', data: 'A'.repeat(5_000), mimeType: 'image/png' }
    const messages = [
      { role: 'user', content: text('first') },
      { role: 'assistant', content: text('x'.repeat(100)) },
      { role: 'user', content: image },
      { role: 'user', content: text('last') },
    ]
    const cut = truncate({ description: 'd', messages }, 50, undefined, 'prompts/get')
    expect(cut).toMatchObject({ description: 'd', messages: [messages[0], { role: 'assistant' }] })
    const said = cut.messages[1].content.text as string
    expect(said).toStartWith(`${'x'.repeat(45)}\n[cut at 50 of 109 bytes`)
    const [rest, picture] = [...said.matchAll(/read (?:on|it) by ([\w-]+)/g)].map(match => match[1])
    expect(read(rest, 1_000).content).toEqual([text(`${'x'.repeat(55)}\nlast`)])
    expect(read(picture, 1_000).content).toEqual([image])
    const alone = truncate({ messages: [{ role: 'user', content: image }] }, 50, undefined, 'prompts/get')
    expect(alone.messages).toMatchObject([{ role: 'user', content: { type: 'text' } }])
  })

  test('the text of a resource is cut; bytes, and pages that an app draws, stay whole', () => {
    const { truncate, read } = budget()
    const long = 'y'.repeat(300)
    const whole = [
      { uri: 'img://1', blob: 'A'.repeat(5_000), mimeType: 'image/png' },
      { uri: 'ui://page', text: long },
      { uri: 'patchbay://a/ui://page', text: long },
      { uri: 'x://app', mimeType: 'text/html;profile=mcp-app', text: long },
    ]
    expect(truncate({ contents: whole }, 10, undefined, 'resources/read')).toEqual({ contents: whole })
    const texts = ['a', 'b', 'c'].map(name => ({ uri: `n://${name}`, mimeType: 'text/plain', text: name.repeat(80) }))
    const cut = truncate({ contents: [...texts, whole[0] ?? {}], _meta: { m: 1 } }, 100, undefined, 'resources/read')
    expect(cut._meta).toEqual({ m: 1 })
    expect(cut.contents).toEqual([
      texts[0],
      { ...texts[1], text: expect.stringMatching(/^b{20}\n\[cut at 100 of 240 bytes/) },
      whole[0],
    ])
    const { content } = read(handleIn(cut.contents[1].text), 1_000)
    expect(content).toEqual([text(`${'b'.repeat(60)}\n[n://c]\n${'c'.repeat(80)}`)])
  })

  test('an embedded text that does not fit is read in pieces, and of very many blocks only the number is given', () => {
    const { truncate, read } = budget()
    const embedded = { type: 'resource', resource: { uri: 'n://1', text: 'z'.repeat(500) } }
    const cut = truncate({ content: [embedded] }, 100)
    expect(cut.content[0].text).toContain('resource n://1 of')
    expect(read(handleIn(cut.content[0].text), 100).content[0].text).toStartWith('z'.repeat(100))
    const images = Array.from({ length: 2_000 }, () => ({ type: 'image', data: 'A'.repeat(40), mimeType: 'image/png' }))
    const many = truncate({ content: images }, 10)
    expect(many.content).toHaveLength(1)
    expect(many.content[0].text).toContain('1984 more are left out')
    expect(many.content[0].text.length).toBeLessThan(10_000)
  })

  test('many small results of one user on many paths take no more room than few large ones', () => {
    const { truncate, read } = budget()
    const first = handleIn(truncate({ content: [text('abc')] }, 1, 'alice|/mcp/0').content.at(-1).text)
    const other = handleIn(truncate({ content: [text('abc')] }, 1, 'bob|/mcp/0').content.at(-1).text)
    for (let n = 0; n < 25_000; n++) truncate({ content: [text('abc')] }, 1, `alice|/mcp/${n % 7}`)
    expect(read(first, 10, 'alice|/mcp/0').isError).toBe(true)
    expect(read(other, 10, 'bob|/mcp/0').isError).toBeUndefined()
  })

  test('the oldest results of a caller make room for new ones, and nobody else’s do', () => {
    const { truncate, read } = budget()
    const keep = (scope: string) =>
      handleIn(truncate({ content: [text('x'.repeat(4_000_000))] }, 10, scope).content.at(-1).text)
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

test('a result that fits, or that cannot be read on, comes unchanged; numbers stay exact', async () => {
  const docs = serverRecord('docs')
  const pad = 'x'.repeat(300)
  const answers = [
    '{ "content":[{"type":"text","text":"ok"}], "n": 12345678901234567890 }',
    `{"resultType":"complete","toolResult":"${pad}"}`,
    `{"content":[{"type":"text","text":"${pad}"}],"structuredContent":{"n":9007199254740993}}`,
  ]
  await using hub = startHub((world, upstreams) => {
    world.servers.push(docs)
    world.groups.push(groupRecord('g', [member(docs)], { resultLimitBytes: 100 }))
    upstreams.add(docs.id, catalog({ tools: [tool('get')] }), ({ params }) => {
      const { n = 0 } = (params?.arguments ?? {}) as { n?: number }
      return { kind: 'result', text: answers[n] ?? '', isError: false }
    })
  })
  const client = await new RawClient(hub, '/mcp/g').open()
  const raw = async (n: number) => (await client.send('tools/call', { name: 'get', arguments: { n } })).text()
  expect(await raw(0)).toContain(answers[0] ?? '')
  expect(await raw(1)).toContain(answers[1] ?? '')
  expect(await raw(2)).toContain('9007199254740993')
})

test('a plugin that stops takes its tools along, and nothing is cut any more', async () => {
  const docs = serverRecord('docs')
  await using hub = startHub((world, upstreams) => {
    world.servers.push(docs)
    world.groups.push(groupRecord('g', [member(docs)], { resultLimitBytes: 100 }))
    upstreams.add(docs.id, catalog({ tools: [tool('get')] }), () => ({
      kind: 'result',
      text: JSON.stringify({ content: [text('x'.repeat(500))] }),
      isError: false,
    }))
  })
  const client = await new RawClient(hub, '/mcp/g').open()
  expect((await client.call('tools/call', { name: 'get' })).result.content).toHaveLength(2)
  hub.toolSets.clear()
  hub.bus.emit('plugin.changed', null, { plugin: 'result-limits', state: 'stopped' })
  expect((await client.call('tools/list')).result.tools).toHaveLength(1)
  expect((await client.call('tools/call', { name: 'get' })).result.content).toEqual([text('x'.repeat(500))])
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

test('prompts and resources of a group with a limit are cut and read on, on both wires', async () => {
  const docs = serverRecord('docs', { visibility: 'public' })
  const long = 'z'.repeat(2_500)
  await using hub = startHub((world, upstreams) => {
    world.servers.push(docs)
    world.groups.push(groupRecord('g', [member(docs)], { resultLimitBytes: 1_000, visibility: 'public' }))
    const lists = { prompts: [{ name: 'long' }], resources: [{ uri: 'n://long', name: 'n' }] }
    upstreams.add(docs.id, catalog(lists), ({ method, params }) => {
      const messages = [{ role: 'user', content: text(long) }]
      const result = method === 'prompts/get' ? { messages } : { contents: [{ uri: params?.uri, text: long }] }
      return { kind: 'result', text: JSON.stringify(result), isError: false }
    })
  })
  const legacy = await new RawClient(hub, '/mcp/g').open()
  for (const client of [legacy, new RawModern(hub, '/mcp/g')]) {
    expect((await client.call('tools/list')).result.tools).toMatchObject([{ name: 'patchbay_read_result' }])
    const said = [
      (await client.call('prompts/get', { name: 'long' })).result.messages[0].content.text,
      (await client.call('resources/read', { uri: 'n://long' })).result.contents[0].text,
    ]
    for (const beginning of said) {
      expect(beginning).toStartWith(`${'z'.repeat(1_000)}\n[cut at 1000 of 2500 bytes`)
      const handle = handleIn(beginning) ?? ''
      const reading = { name: 'patchbay_read_result', arguments: { handle } }
      expect((await client.call('tools/call', reading)).result.content[0].text).toContain('500 bytes follow')
      const others = new RawModern(hub, '/mcp/@alice/g', 'bob')
      expect((await others.call('tools/call', reading)).result.isError).toBe(true)
    }
  }
  const modern = new RawModern(hub, '/mcp/g')
  expect((await modern.call('server/discover')).result.capabilities.tools).toEqual({ listChanged: true })
  const { ttlMs, cacheScope } = (await modern.call('resources/read', { uri: 'n://long' })).result
  expect([ttlMs, cacheScope]).toEqual([0, 'private'])
})
