import { describe, expect, test } from 'bun:test'
import { ToolIndex } from '../../plugins/smart-group/tool-index.ts'
import { Turns } from '../../plugins/smart-group/turns.ts'
import { stem, Words } from '../../plugins/smart-group/words.ts'
import { atMost } from '../support/pace.ts'

const words = new Words()

function tool(name: string, description = '', server = 's', inputSchema: object = { type: 'object' }) {
  const definition = { name, description, inputSchema }
  return { name, server, definition: () => definition }
}

async function first(query: string, tools: readonly ReturnType<typeof tool>[], clock = () => 0): Promise<string[]> {
  const found = await new ToolIndex(words, clock).search({ key: 'k', tools: tools as never }, query)
  return found.map(({ name }) => name)
}

describe('words', () => {
  test.each([
    ['createUserID', ['create_user_id', 'create-user-id', 'Creating user: ID']],
    ['HTTPServer', ['http_servers', 'Ｈｔｔｐ server', 'http/Server']],
  ] as const)('of %s are those of the same name in other spelling', (one, others) => {
    const wanted = words.ofText(one)
    expect(wanted.length).toBeGreaterThan(1)
    for (const other of others) expect([other, words.ofText(other)]).toEqual([other, wanted])
  })

  test.each([
    ['files', 'file'],
    ['queries', 'query'],
    ['searches', 'search'],
    ['creating', 'created'],
    ['updates', 'updating'],
    ['authorise', 'authorize'],
    ['status', 'status'],
    ['bus', 'bus'],
  ])('%s and %s have one stem', (one, other) => {
    expect(stem(one)).toBe(stem(other))
  })
})

describe('search', () => {
  const tools = [
    tool('create_issue', 'Opens a new issue in a repository', 'github'),
    tool('list_issues', 'Lists the issues of a repository', 'github'),
    tool('send_message', 'Posts a message to a channel', 'slack'),
    tool('read_file', 'Gives the contents of a file', 'files'),
    tool('run', 'Executes', 'shell', { type: 'object', properties: { command: { type: 'string' } } }),
    tool('发送邮件', '给收件人发送一封电子邮件', 'mail'),
  ]

  // The recall set contains none of these requests.
  test.each([
    ['帮我瞧瞧这份稿子里写的啥', 'read_file'],
    ['跟大伙儿说一声', 'send_message'],
    ['程序老出毛病，开个单子', 'create_issue'],
    ['给他回个话，寄封信过去', '发送邮件'],
    ['跑一下这句', 'run'],
  ])('spoken Chinese: %s finds %s', async (query, wanted) => {
    expect((await first(query, tools)).slice(0, 2)).toContain(wanted)
  })

  test('words that only hold a Chinese sentence together find nothing', async () => {
    expect(words.ofQuery('把这个给我弄一下吧').flatMap(one => [...one.keys()])).not.toContain('这个')
    expect(await first('那个呢', tools)).toEqual([])
  })

  test('finds by name, server, description, argument, synonym and Chinese', async () => {
    expect((await first('create issue', tools))[0]).toBe('create_issue')
    expect((await first('slack', tools))[0]).toBe('send_message')
    expect((await first('contents', tools))[0]).toBe('read_file')
    expect((await first('command', tools))[0]).toBe('run')
    expect((await first('open a ticket', tools))[0]).toBe('create_issue')
    expect((await first('读取文件', tools))[0]).toBe('read_file')
    expect((await first('send an email', tools))[0]).toBe('发送邮件')
    expect((await first('电子邮件', tools))[0]).toBe('发送邮件')
    expect(await first('zzz', tools)).toEqual([])
  })

  test('takes words together that say together what none of them says', async () => {
    const labels = [tool('get_label', 'A label of a repository'), tool('delete_label', 'A label of a repository')]
    expect((await first('get rid of a label', labels))[0]).toBe('delete_label')
    expect((await first('Get  rid\nof a label', labels))[0]).toBe('delete_label')
    // Only whole words form such a phrase.
    expect((await first('get ridges of a label', labels))[0]).toBe('get_label')
  })

  test('keeps names with digits, and leaves numbers between Chinese words out', async () => {
    const other = [tool('list_workflows', 'Lists n things', 'n'), tool('list_workflows', 'Lists workflows', 'n8n')]
    const found = await new ToolIndex(words, () => 0).search({ key: 'k', tools: other as never }, 'n8n workflows')
    expect(found[0]?.server).toBe('n8n')
    expect(words.ofQuery('12 k8s pods').map(wanted => [...wanted.keys()][0])).toEqual(['12', 'k8s', 'pod'])
    expect(words.ofQuery('等待30秒').some(wanted => wanted.has('30'))).toBe(false)
    expect(words.ofQuery('s3的文件').map(wanted => [...wanted.keys()].includes('s3'))).toContain(true)
  })

  test('prefers a name that says nothing else than what is asked for', async () => {
    const tables = [tool('list_table_column_types', 'Tables of a base'), tool('list_tables', 'Tables of a base')]
    expect((await first('list tables', tables))[0]).toBe('list_tables')
  })

  test('the order depends on the tools in view alone, and not on what others have', async () => {
    const index = new ToolIndex(words, () => 0)
    const mine = { key: 'mine', tools: tools as never }
    const before = (await index.search(mine, 'issue message file')).map(({ name }) => name)
    const others = Array.from({ length: 500 }, (_, at) => tool(`issue_${at}`, 'issue message'))
    await index.search({ key: 'others', tools: others as never }, 'issue')
    expect((await index.search(mine, 'issue message file')).map(({ name }) => name)).toEqual(before)
  })

  test('another list under the same key is read again, and tools that are alike in words are read once', async () => {
    const index = new ToolIndex(words, () => 0)
    expect(await index.search({ key: 'k', tools: tools as never }, 'coffee')).toEqual([])
    const more = [...tools, tool('brew', 'Makes coffee')]
    expect((await index.search({ key: 'k', tools: more as never }, 'coffee')).map(({ name }) => name)).toEqual(['brew'])
    expect((await index.search({ key: 'k', tools: tools as never }, 'coffee')).length).toBe(0)
  })

  test('odd definitions cost nothing and break nothing', async () => {
    const deep: Record<string, unknown> = {}
    let at = deep
    for (let level = 0; level < 5_000; level += 1) {
      at.properties = { inner: {} }
      at = (at.properties as { inner: Record<string, unknown> }).inner
    }
    const odd = [
      tool('deep', '', 's', deep),
      tool('long', 'x '.repeat(200_000)),
      tool('null', '', 's', { type: 'object', properties: { a: null, b: 7, c: { enum: [null, {}, 'choice'] } } }),
      tool('cased', 'ÀÉÎ 🙂 \u0000 \ud800'),
      tool('constructor', '__proto__ hasOwnProperty'),
    ]
    expect((await first('choice', odd))[0]).toBe('null')
    expect((await first('constructor', odd))[0]).toBe('constructor')
    expect((await first('__proto__', odd))[0]).toBe('constructor')
    const started = performance.now()
    await first('deep long', odd)
    expect(performance.now() - started).toBeLessThan(atMost(500))
  })

  test('a large list is read in pieces, between which others have their turn', async () => {
    const many = Array.from({ length: 5_000 }, (_, at) => tool(`tool_${at}`, `Does thing number ${at} with care`))
    const index = new ToolIndex(words, () => performance.now())
    let turns = 0
    const timer = setInterval(() => {
      turns += 1
    }, 1)
    const found = await index.search({ key: 'k', tools: many as never }, 'thing 4711')
    clearInterval(timer)
    expect(found[0]?.name).toBe('tool_4711')
    expect(turns).toBeGreaterThan(2)
  })
})

describe('turns', () => {
  test('users take turns whatever one of them has waiting, one piece of work at a time', async () => {
    const turns = new Turns(() => 0)
    const order: string[] = []
    let running = 0
    const work = (user: string, at: number) =>
      turns.run(user, async () => {
        running += 1
        expect(running).toBe(1)
        await Bun.sleep(1)
        running -= 1
        order.push(`${user}${at}`)
      })
    const all = [...Array.from({ length: 5 }, (_, at) => work('a', at)), work('b', 0), work('c', 0), work('b', 1)]
    await Promise.all(all)
    expect(order).toEqual(['a0', 'a1', 'b0', 'c0', 'a2', 'b1', 'a3', 'a4'])
  })

  test('work that fails ends its turn too', async () => {
    const turns = new Turns(() => 0)
    const failing = turns.run('a', () => Promise.reject(new Error('no')))
    const after = turns.run('a', async () => 'done')
    expect(await failing.catch(String)).toBe('Error: no')
    expect(await after).toBe('done')
  })
})
