/** The AI SDK: `ai-sdk.mjs JSON legacy|modern`. */
import { createMCPClient, ElicitationRequestSchema } from '@ai-sdk/mcp'
import { ELICITED, run } from './run.mjs'

await run(async (url, key) => {
  const client = await createMCPClient({
    transport: { type: 'http', url: url.href, headers: { authorization: `Bearer ${key}` } },
    capabilities: { elicitation: {} },
    protocolVersionDiscovery: process.argv[3] === 'modern',
  })
  client.onElicitationRequest(ElicitationRequestSchema, () => ELICITED)
  const tools = await client.tools()
  const options = { toolCallId: 'call', messages: [] }
  return {
    answers: ['elicitation'],
    tools: async () => Object.keys(tools),
    call: async (name, args) => (await tools[name].execute(args, options)).content[0].text,
    resources: async () => (await client.listResources()).resources.map(one => one.uri),
    read: async uri => (await client.readResource({ uri })).contents[0].text,
    prompts: async () => (await client.experimental_listPrompts()).prompts.map(one => one.name),
    prompt: async name => JSON.stringify((await client.experimental_getPrompt({ name })).messages),
    close: () => client.close(),
  }
})
