import { definePlugin, HubError, isJsonObject, type JsonObject, type TransportContribution } from 'patchbay/contract'

const configSchema: JsonObject = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  type: 'object',
  required: ['command'],
  additionalProperties: false,
  properties: {
    command: {
      type: 'string',
      format: 'command',
      minLength: 1,
      title: 'Command',
      description: 'A program in PATH, or its whole path.',
    },
    args: { type: 'array', format: 'command-arguments', items: { type: 'string' }, default: [], title: 'Arguments' },
    env: {
      type: 'object',
      format: 'environment',
      additionalProperties: { type: 'string' },
      default: {},
      title: 'Environment',
      description: 'All that the program gets besides PATH, HOME and LANG.',
    },
    cwd: { type: 'string', format: 'directory', minLength: 1, title: 'Working directory' },
    sandbox: { enum: ['full', 'off'], title: 'Sandbox' },
    network: { enum: ['none', 'proxy', 'host'], title: 'Network inside the sandbox' },
  },
}

/** The contribution of the stdio transport. */
export const stdioTransport: TransportContribution = {
  label: 'Program on this machine (stdio)',
  transport: 'stdio',
  modern: true,
  configSchema,
  module: new URL('./transport.ts', import.meta.url).href,
  child(config) {
    const { command, args, env, cwd } = config
    if (typeof command !== 'string' || command === '') {
      throw new HubError('config_invalid', 'The configuration of a stdio server names no command')
    }
    return {
      command,
      args: Array.isArray(args) ? args.filter(argument => typeof argument === 'string') : [],
      env: strings(env),
      ...(typeof cwd === 'string' ? { cwd } : {}),
    }
  },
}

function strings(value: unknown): Readonly<Record<string, string>> {
  if (!isJsonObject(value)) return {}
  return Object.fromEntries(
    Object.entries(value).filter((entry): entry is [string, string] => typeof entry[1] === 'string'),
  )
}

export default definePlugin({
  name: 'transport-stdio',
  contract: 1,
  setup(context) {
    context.contribute('transport', 'stdio', stdioTransport)
    return undefined
  },
})
