import { afterEach, expect, test } from 'bun:test'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { HUB_MAIN } from '../../support/hub-main.ts'

let client: Client | undefined
afterEach(async () => {
  await client?.close()
})

test('sample-server offers three tools, a prompt and a resource to an MCP client over stdio, and ends with its input', async () => {
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [HUB_MAIN, 'sample-server'],
    env: {},
    stderr: 'pipe',
  })
  client = new Client({ name: 'test', version: '1' })
  await client.connect(transport)
  expect((await client.listTools()).tools.map(tool => tool.name)).toEqual(['echo', 'add', 'time'])
  const sum = await client.callTool({ name: 'add', arguments: { a: 1.5, b: 2 } })
  expect(sum).toMatchObject({ content: [{ type: 'text', text: '3.5' }], structuredContent: { sum: 3.5 } })
  const now = await client.callTool({ name: 'time', arguments: { timezone: 'Asia/Tokyo' } })
  expect(now).toMatchObject({
    content: [{ text: expect.stringMatching(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d Asia\/Tokyo$/) }],
  })
  const wrong = await client.callTool({ name: 'time', arguments: { timezone: 'Nowhere' } })
  expect(wrong.isError).toBe(true)
  const prompt = await client.getPrompt({ name: 'introduce', arguments: { name: 'Ada' } })
  expect(JSON.stringify(prompt.messages)).toContain('to Ada')
  const about = await client.readResource({ uri: 'sample://about' })
  expect(about.contents).toHaveLength(1)

  const { pid } = transport
  await client.close()
  expect(() => process.kill(pid ?? 0, 0)).toThrow('ESRCH')
})
