import type { JsonObject } from 'patchbay/contract'

/** Values that a server asks each of its users for, and who brings a credential. */
export const BRING_FIELDS: Readonly<Record<string, JsonObject>> = {
  bring: {
    type: 'array',
    asksCallers: true,
    maxItems: 16,
    title: 'Values of each user',
    description: 'Values that each user enters, such as an API key. Nobody else sees them.',
    'x-zh': { title: '每个用户的值', description: '每个用户各自填写的值，例如 API 密钥；其他人看不到。' },
    items: {
      type: 'object',
      additionalProperties: false,
      required: ['name', 'in', 'key', 'label'],
      properties: {
        name: {
          ...{ type: 'string', maxLength: 64, pattern: '^[A-Za-z][A-Za-z0-9_-]{0,63}$', title: 'Name' },
          description: 'The name of the value in requests to the hub.',
          'x-zh': { title: '名称', description: '该值在对 hub 的请求中的名称。' },
        },
        in: {
          ...{ type: 'string', enum: ['header', 'env'], title: 'Place' },
          description: '`header` of each request, or `env`: a variable of a process that each user has.',
          'x-zh': { title: '位置', description: '`header`：每个请求的请求头；`env`：每个用户各自进程的环境变量。' },
        },
        key: {
          ...{ type: 'string', minLength: 1, maxLength: 128, title: 'Header or variable' },
          description: 'The name of the header or of the variable.',
          'x-zh': { title: '请求头或变量', description: '请求头或变量的名称。' },
        },
        format: {
          ...{ type: 'string', maxLength: 256, title: 'Form' },
          description: 'The text with {value} in it, such as "Bearer {value}". Default: the value alone.',
          'x-zh': { title: '格式', description: '含 {value} 的文本，例如 "Bearer {value}"；默认仅为该值。' },
        },
        label: {
          ...{ type: 'string', minLength: 1, maxLength: 128, title: 'Label' },
          description: 'The text beside the input.',
          'x-zh': { title: '标签', description: '输入框旁的文字。' },
        },
        help: {
          ...{ type: 'string', maxLength: 1024, title: 'Help' },
          description: 'Where a user finds the value.',
          'x-zh': { title: '帮助', description: '用户在哪里可以找到该值。' },
        },
      },
    },
  },
  credentials: {
    ...{ type: 'string', enum: ['owner', 'caller'], title: 'Who signs in' },
    description:
      '`caller`: each user signs in and acts as such, the usual with `oauth`. `owner`: all act as the owner.',
    'x-zh': {
      title: '由谁登录',
      description: '`caller`：每个用户各自登录（`oauth` 的默认值）；`owner`：所有人以所有者身份操作。',
    },
  },
}

/** Fields of a server at which users sign in, for the schema of a transport that a source of credentials may serve. */
export const SIGN_IN_FIELDS: Readonly<Record<string, JsonObject>> = {
  oauth: {
    type: 'object',
    asksCallers: true,
    additionalProperties: false,
    title: 'Sign-in',
    description: 'How people sign in at the server. Empty: everything is found out.',
    'x-zh': { title: '登录', description: '用户如何在服务器登录；留空则全部自动发现。' },
    properties: {
      clientId: {
        ...{ type: 'string', minLength: 1, maxLength: 2048, title: 'Client id' },
        description: 'Of a client that was registered at the issuer by hand.',
        'x-zh': { title: '客户端 ID', description: '在签发方手动注册的客户端。' },
      },
      clientSecret: {
        ...{ type: 'string', minLength: 1, maxLength: 4096, writeOnly: true, title: 'Client secret' },
        description: 'Its secret, if it has one.',
        'x-zh': { title: '客户端密钥', description: '该客户端的密钥（如有）。' },
      },
      method: {
        ...{
          type: 'string',
          enum: ['none', 'client_secret_post', 'client_secret_basic', 'private_key_jwt'],
          title: 'Proof of the client',
        },
        description: 'How the client proves who it is. By default by its key, else by its secret as the issuer offers.',
        'x-zh': {
          title: '客户端认证方式',
          description: '客户端如何证明身份；默认使用私钥，否则按签发方支持的方式发送密钥。',
        },
      },
      key: {
        ...{
          type: 'string',
          format: 'private-key',
          minLength: 1,
          maxLength: 16_384,
          writeOnly: true,
          title: 'Client key',
        },
        description: 'The private key (PEM) with which the client signs its assertions, in place of a secret.',
        'x-zh': { title: '客户端私钥', description: '客户端用于签署断言的私钥（PEM），代替密钥。' },
      },
      scopes: {
        ...{
          type: 'array',
          maxItems: 100,
          items: { type: 'string', minLength: 1, maxLength: 256 },
          title: 'Permissions',
        },
        description: 'Scopes to ask for where the server names none.',
        'x-zh': { title: '权限', description: '服务器未指定时请求的 scope。' },
      },
      issuer: {
        ...{ type: 'string', format: 'uri', maxLength: 2048, title: 'Issuer' },
        description: 'Which of several issuers to use.',
        'x-zh': { title: '签发方', description: '有多个签发方时使用哪一个。' },
      },
      resource: {
        ...{ type: 'string', enum: ['omit'], title: 'Resource' },
        description: '`omit`: the parameter `resource` is left out, for issuers that refuse it.',
        'x-zh': { title: '资源参数', description: '`omit`：不发送 `resource` 参数，用于拒绝它的签发方。' },
      },
      parameters: {
        type: 'object',
        maxProperties: 16,
        additionalProperties: { type: 'string', maxLength: 1024 },
        title: 'Parameters',
        description:
          'Parameters that the issuer wants beside the usual ones when a user signs in, such as `access_type`.',
        'x-zh': { title: '附加参数', description: '用户登录时签发方需要的附加参数，例如 `access_type`。' },
      },
      grant: {
        ...{
          type: 'string',
          enum: ['code', 'device', 'client_credentials', 'id_jag', 'token_exchange', 'jwt_bearer'],
          title: 'Grant',
        },
        description:
          '`device`: users enter a code at the issuer. `client_credentials`: the hub alone signs in, as the client. `id_jag`, `token_exchange`, `jwt_bearer`: by the identity that a plugin has of each user.',
        'x-zh': {
          title: '授权方式',
          description:
            '`device`：每个用户在任意设备上到签发方输入代码。`client_credentials`：hub 以客户端身份登录，无需用户登录。`id_jag`、`token_exchange`、`jwt_bearer`：使用插件持有的每个用户的身份。',
        },
      },
      identity: {
        type: 'object',
        additionalProperties: false,
        required: ['issuer'],
        title: 'Identity provider',
        description:
          'The issuer of the identity of a user, with `id_jag` and `jwt_bearer`. With `id_jag` it is exchanged there for a grant to the server.',
        'x-zh': {
          title: '身份提供方',
          description:
            '使用 `id_jag` 和 `jwt_bearer` 时用户身份的签发方；使用 `id_jag` 时在此将身份换成对服务器的授权。',
        },
        properties: {
          issuer: {
            ...{ type: 'string', format: 'uri', maxLength: 2048, title: 'Issuer' },
            description: 'The issuer of the identity.',
            'x-zh': { title: '签发方', description: '身份的签发方。' },
          },
          clientId: {
            ...{ type: 'string', minLength: 1, maxLength: 2048, title: 'Client id' },
            description: 'Of the client of the hub there, with `id_jag`.',
            'x-zh': { title: '客户端 ID', description: '使用 `id_jag` 时 hub 在该处的客户端。' },
          },
          clientSecret: {
            ...{ type: 'string', minLength: 1, maxLength: 4096, writeOnly: true, title: 'Client secret' },
            description: 'Its secret, if it has one.',
            'x-zh': { title: '客户端密钥', description: '该客户端的密钥（如有）。' },
          },
        },
      },
    },
  },
  ...BRING_FIELDS,
}
