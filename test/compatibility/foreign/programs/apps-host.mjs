// A page that hosts MCP Apps with the official host library. It is bundled for a browser by the test beside it, which calls
// `draw` with the address of a group and the name of a tool.
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { AppBridge, getToolUiResourceUri, PostMessageTransport } from '@modelcontextprotocol/ext-apps/app-bridge'

const HTML = 'text/html;profile=mcp-app'
const INFO = { name: 'host-of-the-tests', version: '1.0.0' }

/** One client for all views of a path, as a host has. */
const clients = new Map()

async function clientOf(path) {
  const known = clients.get(path)
  if (known) return known
  const capabilities = { extensions: { 'io.modelcontextprotocol/ui': { mimeTypes: [HTML] } } }
  const client = new Client(INFO, { capabilities })
  await client.connect(new StreamableHTTPClientTransport(new URL(path, location.href)))
  clients.set(path, client)
  return client
}

/** Calls a tool and draws its result in a frame. Resolves, when the view has begun, with the URI of its page. */
globalThis.draw = async (path, name, args = {}) => {
  const client = await clientOf(path)
  const { tools } = await client.listTools()
  const tool = tools.find(one => one.name === name)
  if (!tool) throw new Error(`no tool ${name} in ${tools.map(one => one.name)}`)
  const uri = getToolUiResourceUri(tool)
  if (uri === undefined) throw new Error(`no view for ${name}`)
  const { contents } = await client.readResource({ uri })
  const [page] = contents
  if (page.uri !== uri || page.mimeType !== HTML) throw new Error(`no page: ${page.uri} ${page.mimeType}`)
  const result = await client.callTool({ name, arguments: args })
  const frame = document.createElement('iframe')
  frame.name = name
  frame.setAttribute('sandbox', 'allow-scripts')
  document.body.append(frame)
  const bridge = new AppBridge(client, INFO, { openLinks: {}, serverTools: {}, logging: {} })
  const begun = new Promise(resolve => {
    bridge.oninitialized = resolve
  })
  await bridge.connect(new PostMessageTransport(frame.contentWindow, frame.contentWindow))
  frame.srcdoc = page.text
  await begun
  await bridge.sendToolInput({ arguments: args })
  await bridge.sendToolResult(result)
  return uri
}
