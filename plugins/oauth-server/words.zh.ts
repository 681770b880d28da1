/** Chinese for the texts of the plugin's errors. */
export const words: Readonly<Record<string, string>> = {
  'The sign-in request is not valid': '登录请求无效',
  'Begin again in the client. If it stays, report the message to its maker.':
    '请在客户端中重新开始。若仍然如此，请将此消息报告给其开发者。',
  'The sign-in is not known any more': '此登录已失效',
  'Begin the sign-in again: it is valid for ten minutes and can be used once.':
    '请重新开始登录：登录的有效期为十分钟，且只能使用一次。',
  'The answer would go to another address': '应答会发往另一个地址',
  'Use the client from its own maker; it must ask for an address that it has registered.':
    '请使用官方客户端；它只能请求自己登记过的地址。',
  'The request was decided already': '此请求已处理',
  'Begin the sign-in again in the client.': '请在客户端中重新开始登录。',
  'The client was refused': '客户端被拒绝',
  'Check the id and secret of the client; let it register again, or ask an administrator to list it.':
    '请检查客户端的 ID 和密钥；让它重新注册，或请管理员将其列入。',
  'The client is blocked': '此客户端已被屏蔽',
  'Ask an administrator of the hub to unblock it.': '请联系管理员解除屏蔽。',
  'No such client': '没有这个客户端',
  'GET /api/admin/oauth/clients lists the clients.': 'GET /api/admin/oauth/clients 列出所有客户端。',
  'No such connected app': '没有这个已连接的应用',
  'GET /api/oauth/grants lists yours.': 'GET /api/oauth/grants 列出您的应用。',
  'A sign-in is needed': '需要登录',
  'Sign in to the console; access keys cannot do this.': '请登录控制台；访问密钥无法执行此操作。',
  'No user of this hub has this account': '此 Hub 没有关联该账号的用户',
  'Sign in with your password and link the account in the settings, or ask an administrator.':
    '请用密码登录并在设置中关联账号，或联系管理员。',
  'The issuer could not be reached': '无法连接签发方',
  'Try again later; the hub does so too.': '请稍后再试；hub 也会自动重试。',
}
