/** LangChain's adapters: `langchain.mjs JSON`. */
import { MultiServerMCPClient } from '@langchain/mcp-adapters'
import { run } from './run.mjs'

await run(async (url, key) => {
  const hub = { url: url.href, transport: 'http', headers: { Authorization: `Bearer ${key}` } }
  const client = new MultiServerMCPClient({ mcpServers: { hub }, useStandardContentBlocks: true })
  const tools = await client.getTools()
  return {
    tools: async () => tools.map(one => one.name),
    call: async (name, args) => JSON.stringify(await tools.find(one => one.name === name).invoke(args)),
    resources: async () => (await client.listResources()).hub.map(one => one.uri),
    read: async uri => (await client.readResource('hub', uri))[0].text,
    close: () => client.close(),
  }
})
