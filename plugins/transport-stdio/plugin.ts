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
      maxLength: 4096,
      title: 'Command',
      description: 'A program in PATH, or its whole path.',
      'x-zh': { title: '命令', description: 'PATH 中的程序，或其完整路径。' },
    },
    args: {
      type: 'array',
      format: 'command-arguments',
      items: { type: 'string' },
      maxItems: 131_072,
      default: [],
      title: 'Arguments',
      description: 'What the program is started with, at most 128 KiB together.',
      'x-zh': { title: '参数', description: '启动程序所带的参数，合计最多 128 KiB。' },
    },
    env: {
      type: 'object',
      format: 'environment',
      additionalProperties: { type: 'string' },
      default: {},
      title: 'Environment',
      description: 'Variables that the program gets besides PATH, HOME and LANG, at most 128 KiB together.',
      'x-zh': { title: '环境变量', description: '除 PATH、HOME 和 LANG 外程序得到的变量，合计最多 128 KiB。' },
    },
    cwd: {
      type: 'string',
      format: 'directory',
      minLength: 1,
      maxLength: 4096,
      title: 'Working directory',
      description: 'The folder in which the program is started; in the sandbox a path inside its own folder.',
      'x-zh': { title: '工作目录', description: '启动程序的目录；在沙箱中为其自身目录内的路径。' },
    },
    sandbox: {
      enum: ['full', 'off'],
      title: 'Sandbox',
      description: '`off` is for administrators, whose default it is; programs of ordinary users always run inside.',
      'x-zh': { title: '沙箱', description: '`off` 仅限管理员，也是其默认值；普通用户的程序始终在沙箱内运行。' },
    },
    network: {
      enum: ['none', 'proxy', 'host'],
      default: 'none',
      title: 'Network inside the sandbox',
      description:
        '`proxy`: public addresses by the hub’s proxy, where granted; `host`: all of the machine’s, for administrators.',
      'x-zh': {
        title: '沙箱内的网络',
        description: '`proxy`：获准时经 hub 的代理访问公网地址；`host`：本机的全部网络，仅限管理员。',
      },
    },
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
