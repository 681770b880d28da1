/** The agents of OpenAI: `openai-agents.mjs JSON`. */
import { MCPServerStreamableHttp, setTracingDisabled } from '@openai/agents'
import { run } from './run.mjs'

// Traces go to a host outside.
setTracingDisabled(true)

await run(async (url, key) => {
  const requestInit = { headers: { Authorization: `Bearer ${key}` } }
  const server = new MCPServerStreamableHttp({ url: url.href, name: 'hub', requestInit })
  await server.connect()
  return {
    tools: async () => (await server.listTools()).map(one => one.name),
    call: async (name, args) => (await server.callTool(name, args))[0].text,
    resources: async () => (await server.listResources()).resources.map(one => one.uri),
    read: async uri => (await server.readResource(uri)).contents[0].text,
    close: () => server.close(),
  }
})
