/** Chinese sentences about what figures count, by their English. */
export const figures: Readonly<Record<string, string>> = {
  'Calls are tool calls that ended, including those that reached no server. Failed calls have any outcome but success; the error rate is their share. Response times are those of calls that reached a server.':
    '“调用”是已结束的工具调用，包括未到达任何服务器的调用。“失败调用”是结果不为成功的调用，“错误率”是其占比。“响应时间”只统计到达服务器的调用。',
  'Calls are tool calls that ended and reached this server. Failed calls have any outcome but success; the error rate is their share.':
    '“调用”是已结束且到达此服务器的工具调用。“失败调用”是结果不为成功的调用，“错误率”是其占比。',
  'A row of a server or tool counts the calls that ended and reached it.':
    '服务器或工具的一行只统计已结束且到达它的调用。',
  'Tool calls that ended and reached this server.': '已结束且到达此服务器的工具调用。',
  'Tool calls that ended, including those that reached no server.': '已结束的工具调用，包括未到达任何服务器的调用。',
  'Calls that reached this server, with any outcome but success.': '到达此服务器且结果不为成功的调用。',
  'Calls with any outcome but success, including those that reached no server.':
    '结果不为成功的调用，包括未到达任何服务器的调用。',
  'Response times of tool calls that reached a server.': '到达服务器的工具调用的响应时间。',
  'Starts of servers, from the attempt to connect until their lists were read.':
    '服务器的启动，从尝试连接到读完其列表。',
  'Requests to the REST API of the hub by all users; failed are those with a status of 500 or more.':
    '所有用户对 Hub REST API 的请求；状态码不小于 500 的为失败。',
  'Log records of level ERROR, and calls with any outcome but success.':
    'ERROR 级别的日志记录，以及结果不为成功的调用。',
  'Share of calls with any outcome but success.': '结果不为成功的调用占比。',
  'Share of calls with the outcome success.': '结果为成功的调用占比。',
  'Log records of all levels, among them one for each call.': '所有级别的日志记录，其中每次调用一条。',
  'Servers that are neither online nor connecting, including stopped ones.':
    '既不在线也不在连接中的服务器，包括已停止的。',
  'Open MCP sessions.': '打开的 MCP 会话。',
  'Use of all processors of the machine.': '本机所有处理器的使用率。',
  'Calls by the user who made them, including those that reached no server.':
    '按发起用户统计的调用，包括未到达任何服务器的调用。',
  'A server that was stopped or sleeps has no state here.': '已停止或休眠的服务器在此没有状态。',
  'Servers that should be online and are not, without those in the first 30 s of a start.':
    '应在线而未在线的服务器，不含启动未满 30 秒的。',
  'Connections to a server after the first one.': '首次之后与服务器的连接次数。',
  'Log records of servers; in a rule of an administrator for all together, also those of the hub.':
    '服务器的日志记录；管理员的合并规则还包括 Hub 自身的记录。',
  'Longest time in which the hub itself was blocked.': 'Hub 自身被阻塞的最长时间。',
  'In the last hour.': '最近一小时。',
  'Calls that reached a server': '到达服务器的调用',
  'API requests': 'API 请求数',
  'Recent p95, ms': '近期 p95（毫秒）',
  'Of the last 128 requests that the server answered': '服务器最近应答的 128 个请求',
  'Success rate': '成功率',
  'ERROR records and failed calls': 'ERROR 记录与失败调用',
  'reached no server': '未到达服务器',
  'in {span} · {rate} a minute on average': '{span}内 · 平均每分钟 {rate}',
  '{n} failed calls in {span}': '{span}内 {n} 次失败调用',
  'Calls a minute at the address of the group in the last 5 minutes, including those that reached no server':
    '最近 5 分钟在该组地址上每分钟的调用数，包括未到达任何服务器的调用',
}
