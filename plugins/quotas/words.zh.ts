/** Chinese for what this plugin says to people. */
export const words: Readonly<Record<string, string>> = {
  'Too many calls in this minute': '这一分钟内的调用过多',
  'Wait as long as the error says, and call again.': '请按错误所示的时间等待，然后再次调用。',
  'The calls of this day are used up': '今天的调用次数已用完',
  'Wait until the next day in UTC, or ask the one who set the quota for more.':
    '请等到 UTC 的下一天，或请设置配额的人提高配额。',
  'Too many calls at once': '并发调用过多',
  'Wait until other calls have ended, and call again.': '请等待其他调用结束后再次调用。',
  'The tokens of results of this day are used up': '今天结果的 token 数已用完',
  'No such client to limit': '没有可设配额的此客户端',
  'GET /api/oauth/grants lists your connected apps. One that another issuer lets in is known by its first call.':
    'GET /api/oauth/grants 列出您的已连接应用；由其他签发方授权的应用在首次调用后可用。',
  'Too many quotas': '配额过多',
  'Remove quotas that you do not need.': '请移除不需要的配额。',
}
