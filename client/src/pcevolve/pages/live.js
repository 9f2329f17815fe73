(() => {
  let known = "";
  const gone = document.getElementById("gone");
  const look = async () => {
    try {
      const answer = await fetch(location.href, { cache: "no-store", headers: known ? { "If-None-Match": known } : {} });
      if (answer.status === 200) {
        known = answer.headers.get("ETag") || "";
        const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
        document.querySelector("main").replaceWith(fresh.querySelector("main"));
        document.title = fresh.title;
      }
      gone.hidden = answer.status === 200 || answer.status === 304;
    } catch {
      gone.hidden = false;
    }
    setTimeout(look, 1000);
  };
  setTimeout(look, 1000);
})();
