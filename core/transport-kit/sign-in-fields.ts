import type { JsonObject } from '../contract/json.ts'

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
      grant: {
        ...{
          type: 'string',
          enum: ['code', 'client_credentials', 'id_jag', 'token_exchange', 'jwt_bearer'],
          title: 'Grant',
        },
        description:
          '`client_credentials`: the hub signs in as the client, and nobody else does. `id_jag`, `token_exchange`, `jwt_bearer`: by the identity that a plugin has of each user.',
        'x-zh': {
          title: '授权方式',
          description:
            '`client_credentials`：hub 以客户端身份登录，无需用户登录。`id_jag`、`token_exchange`、`jwt_bearer`：使用插件持有的每个用户的身份。',
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
