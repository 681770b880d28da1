/** The official package of a version, as its users write a client: `sdk.mjs JSON PACKAGE http|sse|bare-sse`. */
import { EventSource } from 'eventsource'
import { ELICITED, ROOTS, run, SAMPLED } from './run.mjs'

const [name, wire] = process.argv.slice(3)
const load = path => import(`${name}/${path}`)
const { Client } = await load('client/index.js')
const types = await load('types.js')
const { SSEClientTransport } = await load('client/sse.js')
const { StreamableHTTPClientTransport } = wire === 'http' ? await load('client/streamableHttp.js') : {}

let authorization
const withHeader = (to, init) => fetch(to, { ...init, headers: { ...init?.headers, authorization } })

if (wire === 'bare-sse') {
  // The first versions take no headers: their users put them into the `EventSource` and the `fetch` that the package finds.
  const found = globalThis.fetch
  globalThis.fetch = (to, init) => found(to, { ...init, headers: { ...init?.headers, authorization } })
  globalThis.EventSource = class extends EventSource {
    constructor(url) {
      super(url, { fetch: globalThis.fetch })
    }
  }
}

function transportTo(url) {
  if (wire === 'bare-sse') return new SSEClientTransport(url)
  const requestInit = { headers: { authorization } }
  if (wire === 'http') return new StreamableHTTPClientTransport(url, { requestInit })
  return new SSEClientTransport(url, { eventSourceInit: { fetch: withHeader }, requestInit })
}

await run(async (url, key) => {
  authorization = `Bearer ${key}`
  const answers = ['sampling', ...(types.ElicitRequestSchema ? ['elicitation'] : []), 'roots']
  const capabilities = Object.fromEntries(answers.map(each => [each, {}]))
  const client = new Client({ name: 'foreign', version: '1.0.0' }, { capabilities })
  client.setRequestHandler(types.CreateMessageRequestSchema, () => SAMPLED)
  client.setRequestHandler(types.ListRootsRequestSchema, () => ROOTS)
  if (types.ElicitRequestSchema) client.setRequestHandler(types.ElicitRequestSchema, () => ELICITED)
  await client.connect(transportTo(url))
  return {
    answers,
    tools: async () => (await client.listTools()).tools.map(one => one.name),
    call: async (tool, args) => (await client.callTool({ name: tool, arguments: args })).content[0].text,
    resources: async () => (await client.listResources()).resources.map(one => one.uri),
    read: async uri => (await client.readResource({ uri })).contents[0].text,
    prompts: async () => (await client.listPrompts()).prompts.map(one => one.name),
    prompt: async prompt => JSON.stringify((await client.getPrompt({ name: prompt })).messages),
    close: () => client.close(),
  }
})
