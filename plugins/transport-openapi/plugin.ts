import { definePlugin, type JsonObject, type TransportContribution } from 'patchbay/contract'
import { TLS_CONFIG_SCHEMA } from 'patchbay/transport-kit'

type Words = readonly [title: string, description: string]

const titled = ([title, description]: Words, [zhTitle, zhDescription]: Words): JsonObject => ({
  ...{ title, description },
  'x-zh': { title: zhTitle, description: zhDescription },
})
const text = (en: Words, zh: Words): JsonObject => ({ type: 'string', maxLength: 8192, ...titled(en, zh) })
const texts = (en: Words, zh: Words): JsonObject => ({
  type: 'array',
  items: { type: 'string', maxLength: 8192 },
  maxItems: 5_000,
  ...titled(en, zh),
})

const credential: JsonObject = {
  type: 'object',
  additionalProperties: false,
  properties: {
    type: {
      enum: ['apiKey', 'http', 'basic', 'bearer', 'oauth2', 'openIdConnect'],
      ...titled(['Kind', 'The kind of the credential.'], ['种类', '凭据的种类。']),
    },
    in: {
      enum: ['header', 'query', 'cookie'],
      ...titled(['Sent in', 'Where the key is sent (apiKey).'], ['发送位置', '密钥的发送位置（apiKey）。']),
    },
    name: text(
      ['Name', 'Of the header, query parameter or cookie (apiKey).'],
      ['名称', '请求头、查询参数或 cookie 的名称（apiKey）。'],
    ),
    scheme: {
      enum: ['basic', 'bearer'],
      ...titled(['Scheme', 'The scheme of Authorization (http).'], ['方案', 'Authorization 的方案（http）。']),
    },
    value: text(['Key', 'The key (apiKey).'], ['密钥', '密钥（apiKey）。']),
    token: text(['Token', 'A bearer token.'], ['令牌', 'Bearer 令牌。']),
    username: text(['User', 'For basic.'], ['用户名', '用于 basic。']),
    password: text(['Password', 'For basic.'], ['密码', '用于 basic。']),
    clientId: text(['Client ID', 'For OAuth 2 client credentials.'], ['客户端 ID', '用于 OAuth 2 客户端凭据。']),
    clientSecret: text(
      ['Client secret', 'For OAuth 2 client credentials.'],
      ['客户端密钥', '用于 OAuth 2 客户端凭据。'],
    ),
    tokenUrl: text(['Token address', 'Instead of the document’s.'], ['令牌地址', '代替文档中的地址。']),
    openIdConnectUrl: text(
      ['OpenID Connect address', 'Instead of the document’s.'],
      ['OpenID Connect 地址', '代替文档中的地址。'],
    ),
    scopes: texts(['Scopes', 'Instead of those that the operation names.'], ['权限范围', '代替操作所列的范围。']),
  },
}

/** The contribution of the OpenAPI transport. */
export const openapiTransport: TransportContribution = {
  label: 'HTTP API (OpenAPI)',
  transport: 'openapi',
  kind: 'answers',
  configSchema: {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    type: 'object',
    required: ['openapi'],
    additionalProperties: false,
    properties: {
      headers: {
        type: 'object',
        format: 'http-headers',
        maxProperties: 64,
        additionalProperties: { type: 'string', maxLength: 8192 },
        default: {},
        title: 'Headers',
        description: 'Sent with every call; win over what the document would send.',
        'x-zh': { title: '请求头', description: '随每次调用发送；优先于文档所规定的内容。' },
      },
      tls: TLS_CONFIG_SCHEMA,
      extraArguments: {
        type: 'string',
        enum: ['drop', 'refuse'],
        default: 'drop',
        ...titled(
          [
            'Unknown arguments',
            'What happens to arguments that a tool does not have: `drop` and record them, or `refuse` the call.',
          ],
          ['未知参数', '工具没有的参数如何处理：`drop` 丢弃并记录，`refuse` 拒绝调用。'],
        ),
      },
      openapi: {
        title: 'API',
        description: 'The document of the API, or where it is, and what is used of it.',
        'x-zh': { title: 'API', description: 'API 的文档或其所在位置，以及使用其中的哪些部分。' },
        type: 'object',
        format: 'openapi',
        additionalProperties: false,
        oneOf: [{ required: ['url'] }, { required: ['schema'] }],
        properties: {
          url: {
            ...text(
              ['Address of the document', 'Where the document is, http or https.'],
              ['文档地址', '文档所在位置，http 或 https。'],
            ),
            format: 'uri',
          },
          schema: {
            type: ['object', 'string'],
            ...titled(
              ['Document', 'The document itself: JSON, or its text in JSON or YAML.'],
              ['文档', '文档本身：JSON，或其 JSON、YAML 文本。'],
            ),
          },
          version: text(
            ['Version', 'For people; the document’s own version counts.'],
            ['版本', '供人阅读；以文档自身的版本为准。'],
          ),
          baseUrl: {
            ...text(
              ['Address of the API', 'The address of the API, instead of the document’s "servers".'],
              ['API 地址', 'API 的地址，代替文档中的 "servers"。'],
            ),
            format: 'uri',
          },
          operations: {
            type: 'object',
            additionalProperties: false,
            ...titled(
              ['Operations', 'Which operations become tools; by default all.'],
              ['操作', '哪些操作成为工具；默认全部。'],
            ),
            properties: {
              include: texts(
                ['Only these', 'operationId, tag, path or "METHOD /path"; "*" stands for any characters.'],
                ['仅包含', 'operationId、标签、路径或 "METHOD /path"；"*" 代表任意字符。'],
              ),
              exclude: texts(['Without these', 'The same; wins over "include".'], ['排除', '同上；优先于 "include"。']),
            },
          },
          auth: {
            ...titled(
              [
                'Credentials',
                'By the name of the document’s security scheme; with a "type", one credential for all calls.',
              ],
              ['凭据', '按文档中安全方案的名称；带 "type" 时，一个凭据用于所有调用。'],
            ),
            anyOf: [
              { ...credential, required: ['type'] },
              {
                type: 'object',
                additionalProperties: { anyOf: [{ type: 'string', maxLength: 8192 }, credential] },
              },
            ],
          },
        },
      },
    },
  },
  module: new URL('./transport.ts', import.meta.url).href,
}

/** HTTP APIs described by OpenAPI 3.0, 3.1 or Swagger 2.0. */
export default definePlugin({
  name: 'transport-openapi',
  contract: 1,
  setup(context) {
    context.contribute('transport', 'openapi', openapiTransport)
    return undefined
  },
})
