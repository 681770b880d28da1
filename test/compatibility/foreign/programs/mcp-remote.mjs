/** An SDK client that starts mcp-remote, as desktop clients do: `mcp-remote.mjs JSON`. */
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import * as types from '@modelcontextprotocol/sdk/types.js'
import { ELICITED, ROOTS, run, SAMPLED } from './run.mjs'

const PROXY = new URL('../node_modules/mcp-remote/dist/proxy.js', import.meta.url).pathname

await run(async (url, key) => {
  const answers = ['sampling', 'elicitation', 'roots']
  const capabilities = Object.fromEntries(answers.map(each => [each, {}]))
  const client = new Client({ name: 'foreign', version: '1.0.0' }, { capabilities })
  client.setRequestHandler(types.CreateMessageRequestSchema, () => SAMPLED)
  client.setRequestHandler(types.ListRootsRequestSchema, () => ROOTS)
  client.setRequestHandler(types.ElicitRequestSchema, () => ELICITED)
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [PROXY, url.href, '--header', `Authorization: Bearer ${key}`],
    env: process.env,
    stderr: 'pipe',
  })
  let said = ''
  transport.stderr.on('data', chunk => {
    said += chunk
  })
  let version
  transport.setProtocolVersion = negotiated => {
    version = negotiated
  }
  await client.connect(transport).catch(error => {
    // The error that a user reads is in the log of the proxy.
    throw new Error(/\w+Error: .*/.exec(said)?.[0] ?? `${error.message}: ${said}`)
  })
  return {
    answers,
    version: () => version,
    tools: async () => (await client.listTools()).tools.map(one => one.name),
    call: async (tool, args) => (await client.callTool({ name: tool, arguments: args })).content[0].text,
    resources: async () => (await client.listResources()).resources.map(one => one.uri),
    read: async uri => (await client.readResource({ uri })).contents[0].text,
    prompts: async () => (await client.listPrompts()).prompts.map(one => one.name),
    prompt: async prompt => JSON.stringify((await client.getPrompt({ name: prompt })).messages),
    close: () => client.close(),
  }
})
