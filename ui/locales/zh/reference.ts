/** Chinese texts of the API reference, by their English. */
export const reference: Readonly<Record<string, string>> = {
  'Send “Authorization: Bearer …” with an access key or a session token. Every refusal is a problem document with a stable code.':
    '请求需带 “Authorization: Bearer …”，值为访问密钥或会话令牌。每次拒绝都以带固定代码的 problem 文档返回。',
  'Path or words': '路径或关键词',
  'No route matches': '没有匹配的路由',
  Body: '请求体',
}
