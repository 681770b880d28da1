/**
 * A server that names everything after NAMES (a JSON array) over stdio: tools, prompts, resources, their titles and
 * descriptions. A tool answers with the name by which it was called, and with `fail` by an error that holds the name. At the
 * handshake each name goes to stderr and into a log message. With ARGUMENTS=true the names are also used in addresses, names of
 * arguments, enumerations and defaults, which programs send back.
 */
import { type Message, onMessages, say, sendError, sendResult } from './lines.ts'

const names = JSON.parse(process.env.NAMES ?? '[]') as readonly string[]
const hasArguments = process.env.ARGUMENTS === 'true'
const argument = (name: string) =>
  hasArguments ? { [name]: { type: 'string', enum: [name, 'other'], default: name, description: name } } : {}
const about = (name: string) => ({ name, title: name, description: `about ${name}\nsecond line` })

onMessages(({ id, method, params }: Message) => {
  switch (method) {
    case 'initialize':
      return sendResult(id, {
        protocolVersion: params.protocolVersion,
        capabilities: { tools: {}, prompts: {}, resources: {}, logging: {} },
        serverInfo: { name: names.join(' '), version: names[0] ?? '1', title: names.join(' ') },
        instructions: names.join('\n'),
      })
    case 'notifications/initialized':
      for (const name of names) {
        process.stderr.write(`${name}\n`)
        const log = { level: 'warning', logger: name, data: `said ${name}` }
        say(JSON.stringify({ jsonrpc: '2.0', method: 'notifications/message', params: log }))
      }
      return
    case 'tools/list':
      return sendResult(id, {
        tools: names.map(name => ({
          ...about(name),
          inputSchema: {
            type: 'object',
            properties: { fail: { type: 'boolean', description: name, title: name }, ...argument(name) },
          },
        })),
      })
    case 'prompts/list':
      return sendResult(id, { prompts: names.map(name => ({ ...about(name), arguments: [] })) })
    case 'resources/list':
      return sendResult(id, {
        resources: names.map((name, at) => ({ uri: `named:///${hasArguments ? name : at}`, ...about(name) })),
      })
    case 'resources/templates/list':
      return sendResult(id, { resourceTemplates: [] })
    case 'tools/call':
      if (params.arguments?.fail) return sendError(id, -32000, `failed: ${params.name}`)
      return sendResult(id, { content: [{ type: 'text', text: JSON.stringify(params.name) }] })
    case 'prompts/get':
      return sendResult(id, {
        messages: [{ role: 'user', content: { type: 'text', text: JSON.stringify(params.name) } }],
      })
    case 'ping':
      return sendResult(id, {})
    default:
      if (id !== undefined) sendError(id, -32601, 'no such method')
  }
})
