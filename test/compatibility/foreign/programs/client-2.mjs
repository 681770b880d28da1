/** `@modelcontextprotocol/client`, which speaks both eras: `client-2.mjs JSON legacy|modern`. */
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { ELICITED, ROOTS, run, SAMPLED } from './run.mjs'

const mode = process.argv[3] === 'legacy' ? 'legacy' : { pin: '2026-07-28' }

await run(async (url, key) => {
  const answers = ['sampling', 'elicitation', 'roots']
  const capabilities = Object.fromEntries(answers.map(each => [each, {}]))
  const client = new Client({ name: 'foreign', version: '1.0.0' }, { capabilities, versionNegotiation: { mode } })
  client.setRequestHandler('sampling/createMessage', () => SAMPLED)
  client.setRequestHandler('elicitation/create', () => ELICITED)
  client.setRequestHandler('roots/list', () => ROOTS)
  const headers = { authorization: `Bearer ${key}` }
  await client.connect(new StreamableHTTPClientTransport(url, { requestInit: { headers } }))
  return {
    answers,
    version: () => client.getNegotiatedProtocolVersion(),
    tools: async () => (await client.listTools()).tools.map(one => one.name),
    call: async (tool, args) => (await client.callTool({ name: tool, arguments: args })).content[0].text,
    resources: async () => (await client.listResources()).resources.map(one => one.uri),
    read: async uri => (await client.readResource({ uri })).contents[0].text,
    prompts: async () => (await client.listPrompts()).prompts.map(one => one.name),
    prompt: async prompt => JSON.stringify((await client.getPrompt({ name: prompt })).messages),
    close: () => client.close(),
  }
})
