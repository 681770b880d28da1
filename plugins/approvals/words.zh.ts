/** Chinese for what this plugin says to people. */
export const words: Readonly<Record<string, string>> = {
  'The call was not allowed': '该调用未获允许',
  'Do without this call, or ask the one who decides before you try it again.':
    '请放弃此调用，或在重试之前询问负责审批的人。',
  'The call waits for a person': '该调用正在等待人工审批',
  'Open the page of the error, decide there, and send the same call again.':
    '请打开错误所给的页面进行审批，然后再次发送同一调用。',
  'The request was decided already': '该请求已有决定',
  'Look at the request: it has been decided, or nobody decided in time.':
    '请查看该请求：它已有决定，或无人及时作出决定。',
  'There is no such request': '没有此请求',
  'List the requests that wait for you.': '请列出等待您审批的请求。',
  'Somebody else decides this request': '此请求由其他人审批',
  'Sign in to the console as the one who decides; access keys cannot do it.':
    '请以审批人身份登录控制台；访问密钥不能审批。',
}
