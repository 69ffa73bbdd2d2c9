// Asks each address with the two clients of Node, and tells what each made of it.
const http = require('node:http');
const patience = 1000;

const byHttp = (url) => new Promise((resolve, reject) => {
  const asked = http.get(url, { agent: false, timeout: patience }, (answer) => {
    let size = 0;
    answer.on('data', (chunk) => { size += chunk.length; });
    answer.on('end', () => resolve(`${answer.statusCode}, ${size} bytes`));
    answer.on('error', reject);
  });
  asked.on('timeout', () => asked.destroy(Object.assign(new Error('no answer in time'), { code: 'timeout' })));
  asked.on('error', reject);
});
const byFetch = async (url) => {
  const answer = await fetch(url, { signal: AbortSignal.timeout(patience) });
  return `${answer.status}, ${(await answer.arrayBuffer()).byteLength} bytes`;
};
// The name that a program sees: the innermost code, or else the error's name.
const called = (e) => e.cause?.code ?? e.code?.toString() ?? e.name;

(async () => {
  for (const url of process.argv.slice(2)) {
    for (const [name, ask] of [['node http', byHttp], ['node fetch (undici)', byFetch]]) {
      await ask(url).then(
        (text) => console.log(`${url}\t${name}\tanswer ${text}`),
        (e) => console.log(`${url}\t${name}\terror ${e.name === 'TimeoutError' ? 'TimeoutError' : called(e)}`),
      );
    }
  }
  process.exit(0);
})();
